"""The acts of administration that the log knows. An act's name is a contract: exports have it."""

from enum import StrEnum


class Act(StrEnum):
    """What was done. The first part of the name is the kind of thing that was changed."""

    PROJECT_CREATED = "project.created"
    PROJECT_RENAMED = "project.renamed"
    PROJECT_ARCHIVED = "project.archived"
    PROJECT_RESTORED = "project.restored"
    PROJECT_DELETION_STARTED = "project.deletion_started"
    PROJECT_DELETED = "project.deleted"
    KEY_CREATED = "key.created"
    KEY_ORIGINS_CHANGED = "key.origins_changed"
    KEY_REVOKED = "key.revoked"
    LIMITS_CHANGED = "limits.changed"
    COLLECTION_CHANGED = "collection.changed"
    ROUTES_CHANGED = "routes.changed"
    CODE_RULES_CHANGED = "code.rules_changed"
    SOURCE_LINK_CHANGED = "code.source_link_changed"
    DISPLAY_RULES_CHANGED = "display.rules_changed"
    SOURCE_MAPS_UPLOADED = "source_maps.uploaded"
    SOURCE_MAPS_MOVED = "source_maps.moved"
    SOURCE_MAPS_DELETED = "source_maps.deleted"
    TRACES_IMPORTED = "traces.imported"
    REFOLD_STARTED = "refold.started"
    ERASURE_STARTED = "erasure.started"
    ERASURE_FINISHED = "erasure.finished"
    MEMBER_ADDED = "member.added"
    MEMBER_ROLE_CHANGED = "member.role_changed"
    MEMBER_REMOVED = "member.removed"
    TOKEN_CREATED = "token.created"  # noqa: S105  # the name of an act
    TOKEN_REVOKED = "token.revoked"  # noqa: S105
    LINK_CREATED = "link.created"
    LINK_EXTENDED = "link.extended"
    LINK_REVOKED = "link.revoked"
    USER_CREATED = "user.created"
    USER_PASSWORD_LINK_CREATED = "user.password_link_created"  # noqa: S105
    USER_PASSWORD_SET = "user.password_set"  # noqa: S105
    USER_SESSIONS_ENDED = "user.sessions_ended"
    USER_LINKED = "user.linked"
    USER_PROMOTED = "user.promoted"
    USER_DEMOTED = "user.demoted"
    USER_DEACTIVATED = "user.deactivated"
    USER_ACTIVATED = "user.activated"
    USER_DELETED = "user.deleted"
