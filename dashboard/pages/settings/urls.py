"""The addresses of a project's settings."""

from typing import Final

from django.urls import URLPattern, path

from dashboard.pages.settings import (
    audit,
    code,
    collection,
    display,
    erasing,
    keys,
    lifecycle,
    members,
    retention,
    routes,
    shared_links,
    source_maps,
    tokens,
)
from dashboard.web.project_pages import PROJECT

SETTINGS: Final = PROJECT + "settings/"

urlpatterns: list[URLPattern] = [
    path(SETTINGS + "archive/", lifecycle.show_archive, name="settings-archive"),
    path(SETTINGS + "delete/", lifecycle.show_delete, name="settings-delete"),
    path(SETTINGS + "keys/", keys.show_keys, name="settings-keys"),
    path(SETTINGS + "keys/<int:key_id>/", keys.change_key, name="settings-key"),
    path(SETTINGS + "keys/<int:key_id>/revoke/", keys.end_key, name="settings-key-end"),
    path(SETTINGS + "collection/", collection.show_collection, name="settings-collection"),
    path(SETTINGS + "routes/", routes.show_routes, name="settings-routes"),
    path(SETTINGS + "code/", code.show_code, name="settings-code"),
    path(SETTINGS + "display/", display.show_display, name="settings-display"),
    path(SETTINGS + "source-maps/", source_maps.show_source_maps, name="settings-sourcemaps"),
    path(SETTINGS + "source-maps/state/", source_maps.show_state, name="settings-sourcemaps-state"),
    path(SETTINGS + "source-maps/release/", source_maps.show_release, name="settings-sourcemaps-release"),
    path(SETTINGS + "source-maps/address/", source_maps.move_release, name="settings-sourcemaps-move"),
    path(SETTINGS + "source-maps/delete/", source_maps.end_release, name="settings-sourcemaps-end"),
    path(SETTINGS + "retention/", retention.show_retention, name="settings-retention"),
    path(SETTINGS + "members/", members.show_members, name="settings-members"),
    path(SETTINGS + "members/<int:member_id>/role/", members.change_member, name="settings-member"),
    path(SETTINGS + "members/<int:member_id>/remove/", members.end_member, name="settings-member-end"),
    path(SETTINGS + "members/<int:member_id>/link/", members.renew_link, name="settings-member-link"),
    path(SETTINGS + "shared/", shared_links.show_links, name="settings-shared"),
    path(SETTINGS + "shared/revoke/", shared_links.end_links, name="settings-shared-end"),
    path(SETTINGS + "shared/<slug:prefix>/", shared_links.change_link, name="settings-shared-link"),
    path(PROJECT + "share/", shared_links.share_page, name="share"),
    path(SETTINGS + "erase/", erasing.show_erase, name="settings-erase"),
    path(SETTINGS + "audit/", audit.show_audit, name="settings-audit"),
    path(SETTINGS + "audit/export/", audit.export_audit, name="settings-audit-export"),
    path(SETTINGS + "tokens/", tokens.show_tokens, name="settings-tokens"),
    path(SETTINGS + "tokens/<slug:prefix>/revoke/", tokens.end_token, name="settings-token-end"),
]
