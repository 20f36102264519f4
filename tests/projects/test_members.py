"""A project with members always has an admin who can log in, also where two change it at once."""

import threading

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connection

from projects.members import (
    LastAdmin,
    add_member,
    add_new_member,
    change_role,
    create_account,
    is_last_admin,
    remove_member,
)
from projects.models import Membership, Project
from tests.builders import make_project

ADMIN, MEMBER = Membership.Role.ADMIN, Membership.Role.MEMBER


@pytest.fixture
def shop(db: None) -> Project:
    return make_project("shop")


def add(project: Project, name: str, role: Membership.Role = ADMIN) -> Membership:
    """Makes somebody with an account that is opened a member."""
    user = create_account(name)
    User.objects.filter(pk=user.pk).update(password="hashed")
    return add_member(project=project, user=user, role=role, by=user)


def test_who_is_the_first_member_alone_must_be_an_admin(shop: Project) -> None:
    with pytest.raises(ValidationError) as error:
        add(shop, "ann", MEMBER)
    assert list(error.value.message_dict) == ["role"]
    ann = User.objects.get(username="ann")
    add_member(project=shop, user=ann, role=ADMIN, by=ann)
    add(shop, "bob", MEMBER)
    assert dict(Membership.objects.values_list("user__username", "role")) == {"ann": "admin", "bob": "member"}


def test_whoever_adds_the_first_member_becomes_an_admin(shop: Project) -> None:
    root = User.objects.create_superuser("root")
    gone = User.objects.create(username="gone", is_active=False)
    add_member(project=shop, user=gone, role=MEMBER, by=root)
    add_new_member(project=shop, username="new", role=MEMBER, by=root)
    stored = dict(Membership.objects.values_list("user__username", "role"))
    assert stored == {"root": "admin", "gone": "member", "new": "member"}


def test_a_first_member_that_is_refused_changes_nothing(shop: Project) -> None:
    root = User.objects.create_superuser("root")
    with pytest.raises(ValidationError):
        add_new_member(project=shop, username="no name", role=MEMBER, by=root)
    assert not Membership.objects.exists()


def test_nobody_is_a_member_twice(shop: Project) -> None:
    ann = add(shop, "ann")
    with pytest.raises(ValidationError) as error:
        add_member(project=shop, user=ann.user, role=MEMBER, by=ann.user)
    assert "already" in error.value.message_dict["username"][0]


def test_the_last_admin_neither_steps_down_nor_goes(shop: Project) -> None:
    ann, bob = add(shop, "ann"), add(shop, "bob", MEMBER)
    add(make_project("elsewhere"), "carl")
    assert is_last_admin(ann)
    with pytest.raises(LastAdmin):
        change_role(ann, MEMBER)
    with pytest.raises(LastAdmin):
        remove_member(ann)
    change_role(bob, ADMIN)
    remove_member(ann)
    assert list(Membership.objects.filter(project=shop).values_list("user__username", "role")) == [("bob", "admin")]


def test_who_was_removed_meanwhile_gets_no_role(shop: Project) -> None:
    _, bob = add(shop, "ann"), add(shop, "bob", MEMBER)
    remove_member(Membership.objects.get(pk=bob.pk))
    with pytest.raises(Membership.DoesNotExist):
        change_role(bob, ADMIN)


def test_an_admin_who_cannot_log_in_does_not_count(shop: Project) -> None:
    ann, bob = add(shop, "ann"), add(shop, "bob")
    User.objects.filter(pk=bob.user_id).update(is_active=False)
    with pytest.raises(LastAdmin):
        remove_member(ann)


def test_an_admin_who_has_not_opened_the_account_does_not_count_yet(shop: Project) -> None:
    ann = add(shop, "ann")
    new = add_new_member(project=shop, username="new", role=ADMIN, by=ann.user)
    for leave in (remove_member, lambda member: change_role(member, MEMBER)):
        with pytest.raises(LastAdmin):
            leave(ann)
    User.objects.filter(pk=new.user_id).update(password="hashed")
    remove_member(ann)


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_step_down_at_once_one_stays() -> None:
    shop = make_project("shop")
    members = [add(shop, "ann"), add(shop, "bob")]
    barrier, refused = threading.Barrier(2), []

    def step_down(membership: Membership) -> None:
        barrier.wait()
        try:
            change_role(membership, MEMBER)
        except LastAdmin:
            refused.append(membership)
        finally:
            connection.close()

    threads = [threading.Thread(target=step_down, args=[membership]) for membership in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert Membership.objects.filter(project=shop, role=ADMIN).count() == 1


def test_an_account_is_made_without_a_password_and_its_name_is_its_own(shop: Project) -> None:
    ann = create_account("ann")
    assert not ann.has_usable_password()
    assert not ann.is_superuser
    for wrong in ("ann", "Ann", "an n", ""):
        with pytest.raises(ValidationError) as error:
            create_account(wrong)
        assert list(error.value.message_dict) == ["username"]


def test_a_name_is_not_made_twice_in_another_width(shop: Project) -> None:
    create_account("admin")
    with pytest.raises(ValidationError) as error:
        create_account("\uff21dmin")  # a wide A
    assert list(error.value.message_dict) == ["username"]
    assert create_account("\uff42ob").username == "bob"
