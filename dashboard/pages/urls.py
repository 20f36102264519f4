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
from dashboard.pages.settings import urls as settings
from dashboard.pages.vitals import all_views, savings
from dashboard.pages.vitals import view as vitals

PROJECT: str = "projects/<slug:slug>/"

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
    path(PROJECT, overview.show_project, name="project"),
    path(PROJECT + "changes/", changes.show_changes, name="changes"),
    path(PROJECT + "change-parts/", changes.show_change_parts, name="change-parts"),
    path(PROJECT + "last-change/", projects.show_last_change, name="last-change"),
    path(PROJECT + "first-steps/", first_visit.show_first_steps, name="first-steps"),
    path(PROJECT + "page/", functions.show_page, name="page"),
    path(PROJECT + "page/table/", functions.show_table, name="page-table"),
    path(PROJECT + "functions/<str:func_id>/", function.show_function, name="function"),
    path(
        PROJECT + "functions/<str:func_id>/parts/<str:part>/",
        function.show_function_part,
        name="function-part",
    ),
    path(PROJECT + "tree/", flamegraph.show_tree, name="tree"),
    path(PROJECT + "compare/", compare.show_compare, name="compare"),
    path(PROJECT + "compare/table/", compare.show_compared, name="compare-table"),
    path(PROJECT + "compare/csv/", compare.download_compared, name="compare-csv"),
    path(PROJECT + "vitals/", vitals.show_vitals, name="vitals"),
    path(PROJECT + "vitals/all/", all_views.show_all_views, name="vitals-all"),
    path(PROJECT + "savings/", savings.show_savings, name="savings"),
    path(PROJECT + "savings/table/", savings.show_savings_table, name="savings-table"),
    path(PROJECT + "vitals/windows/", vitals.show_windows, name="vitals-windows"),
    path(PROJECT + "views/", list_page.show_views, name="views"),
    path(PROJECT + "views/list/", list_page.show_view_list, name="views-list"),
    path(PROJECT + "views/<str:view_id>/", view_page.show_view, name="view"),
    path(PROJECT + "views/<str:view_id>/erase/", erase_page.show_erase, name="view-erase"),
    path(PROJECT + "views/<str:view_id>/functions/", view_page.show_view_functions, name="view-functions"),
    path(PROJECT + "quality/", quality.show_quality, name="quality"),
    path(PROJECT + "quality/sampled/", quality.show_sampled, name="quality-sampled"),
    path(PROJECT + "search/", search.show_search, name="project-search"),
    path(PROJECT + "search/results/", search.show_search_results, name="project-search-results"),
    path(PROJECT + "saved/", saved_views.show_saved_views, name="saved-views"),
    path(PROJECT + "saved/list/", saved_views.show_saved_list, name="saved-views-list"),
    path(PROJECT + "saved/<int:saved_id>/", saved_views.change_saved_view, name="saved-view"),
    path(PROJECT + "doctor/", doctor.show_doctor, name="doctor"),
    path(PROJECT + "import/", imports.show_import, name="import"),
    *alerts.urlpatterns,
    *settings.urlpatterns,
    *administration.urlpatterns,
    path("api/v1/docs", api_docs.show_api_docs, name="api-docs"),
]
