"""The addresses of the dashboard's pages and of the parts that they fetch."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path
from django.views.generic import RedirectView

from dashboard.pages import (
    account,
    api_docs,
    doctor,
    flamegraph,
    functions,
    hangs,
    imports,
    login,
    new_project,
    projects,
    saved_views,
    server,
    shared,
    single_sign_on,
    style,
)
from dashboard.pages.administration import urls as administration
from dashboard.pages.alerts import urls as alerts
from dashboard.pages.compare import view as compare
from dashboard.pages.function import view as function
from dashboard.pages.overview import changes, first_visit
from dashboard.pages.overview import view as overview
from dashboard.pages.page_views import erase_page, list_page, view_page
from dashboard.pages.quality import view as quality
from dashboard.pages.search import view as search
from dashboard.pages.settings import general
from dashboard.pages.settings import urls as settings
from dashboard.pages.vitals import all_views, savings
from dashboard.pages.vitals import view as vitals
from dashboard.web.project_pages import make_paths

urlpatterns: list[URLPattern] = [
    path("", RedirectView.as_view(pattern_name="projects"), name="home"),
    path("login/", login.LogIn.as_view(), name="login"),
    path("login/provider/", single_sign_on.start, name="provider-start"),
    path("login/provider/return/", single_sign_on.come_back, name="provider-return"),
    path("account/link/", single_sign_on.link, name="provider-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account.show_account, name="account"),
    path("account/password/<str:uidb64>/<str:token>/", account.SetPassword.as_view(), name="set-password"),
    path("shared/<str:token>/", shared.open_link, name="open-shared"),
    path("projects/", projects.show_projects, name="projects"),
    path("projects/new/", new_project.show_new_project, name="new-project"),
    path("style/", style.show_style, name="style"),
    path("server/", server.show_server, name="server"),
    path("search/", search.show_search, name="search"),
    path("search/results/", search.show_search_results, name="search-results"),
    path("projects/deleting/", projects.show_deleting, name="deleting-projects"),
    *make_paths(
        overview.show_overview,
        changes.show_changes,
        changes.show_change_parts,
        changes.show_forced_change,
        projects.show_last_change,
        first_visit.show_first_steps,
        functions.show_functions,
        functions.show_table,
        function.show_function,
        function.show_function_part,
        flamegraph.show_flame_graph,
        compare.show_compare,
        compare.show_compared,
        compare.download_compared,
        vitals.show_vitals,
        vitals.show_windows,
        all_views.show_all_views,
        savings.show_savings,
        savings.show_savings_table,
        hangs.show_hangs,
        list_page.show_views,
        list_page.show_view_list,
        view_page.show_view,
        erase_page.show_erase,
        view_page.show_view_functions,
        quality.show_quality,
        quality.show_sampled,
        search.show_search,
        search.show_search_results,
        saved_views.show_saved_views,
        saved_views.show_saved_list,
        saved_views.change_saved_view,
        doctor.show_doctor,
        imports.show_import,
        *alerts.VIEWS,
        general.show_general,
    ),
    *alerts.urlpatterns,
    *settings.urlpatterns,
    *administration.urlpatterns,
    path("api/v1/docs", api_docs.show_api_docs, name="api-docs"),
]
