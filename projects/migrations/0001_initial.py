"""All tables of projects, members, keys, tokens and the audit log."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Entries of the audit log are never changed, and deleted only when they are due.
KEEP_AUDIT_ENTRIES = """
CREATE FUNCTION projects_keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.kept_until <= now() THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The audit log is append-only: % is refused.', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER audit_rows_are_kept BEFORE UPDATE OR DELETE ON projects_auditentry
    FOR EACH ROW EXECUTE FUNCTION projects_keep_audit_entry();
CREATE TRIGGER audit_table_is_kept BEFORE TRUNCATE ON projects_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION projects_keep_audit_entry();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('route_rules', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=400), blank=True, default=list, size=None)),
                ('keep_raw_days', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)])),
                ('keep_views_days', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)])),
                ('keep_cells_days', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)])),
                ('max_traces_per_day', models.PositiveIntegerField(blank=True, null=True)),
                ('max_mb_per_day', models.PositiveIntegerField(blank=True, null=True)),
                ('max_kept_mb', models.PositiveIntegerField(blank=True, null=True)),
                ('code_rules', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                ('source_link_template', models.CharField(blank=True, db_default='', default='', max_length=400)),
                ('owner_rules', models.TextField(blank=True, db_default='', default='')),
                ('issue_link_template', models.CharField(blank=True, db_default='', default='', max_length=1000)),
                ('trace_link_template', models.CharField(blank=True, db_default='', default='', max_length=400)),
                ('display_rules', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list)),
                ('collection_off', models.BooleanField(db_default=False, default=False)),
                ('collection_rate', models.FloatField(blank=True, null=True)),
                ('collection_pages', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list)),
                ('collection_duration_ms', models.PositiveIntegerField(blank=True, null=True)),
                ('collection_interactions', models.BooleanField(db_default=False, default=False)),
                ('collection_absent_rate', models.FloatField(blank=True, null=True)),
                ('collection_only_slow', models.BooleanField(db_default=False, default=False)),
                ('collection_whole_rate', models.FloatField(blank=True, null=True)),
                ('collection_experiment_rate', models.FloatField(blank=True, null=True)),
                ('is_sample', models.BooleanField(db_default=False, default=False)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('deletion_started_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_rows', models.BigIntegerField(blank=True, null=True)),
                ('rows_to_delete', models.BigIntegerField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('kept_until', models.DateTimeField()),
                ('act', models.CharField(max_length=40)),
                ('actor_kind', models.CharField(max_length=10)),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150)),
                ('network', models.CharField(max_length=16)),
                ('project_number', models.BigIntegerField(null=True)),
                ('project_slug', models.CharField(max_length=60)),
                ('about', models.JSONField()),
            ],
            options={
                'indexes': [models.Index(fields=['project_number', '-id'], name='audit_by_project'), models.Index(fields=['kept_until'], name='audit_to_expire'), models.Index(fields=['actor_kind', 'actor_id', '-at'], name='audit_by_actor')],
            },
        ),
        migrations.CreateModel(
            name='IngestKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_key', models.CharField(max_length=80, unique=True)),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), default=list, size=None)),
                ('forwards_to', models.CharField(blank=True, db_default='', default='', max_length=40)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(max_length=12, unique=True)),
                ('digest', models.CharField(max_length=64)),
                ('name', models.CharField(default='', max_length=80)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('raw', 'Raw'), ('sourcemaps', 'Sourcemaps'), ('erase', 'Erase'), ('audit', 'Audit'), ('alerts', 'Alerts')], max_length=12), size=None)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='AnnouncedRelease',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'release', blank=True, editable=False, primary_key=True, serialize=False)),
                ('release', models.TextField()),
                ('announced_at', models.DateTimeField()),
                ('commit', models.TextField(null=True)),
                ('base_commit', models.TextField(null=True)),
                ('released_at', models.DateTimeField(null=True)),
                ('author', models.TextField(null=True)),
                ('link', models.TextField(null=True)),
                ('range_link', models.TextField(null=True)),
                ('rolled_back_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('path', models.CharField(blank=True, max_length=400)),
                ('query', models.CharField(blank=True, max_length=4000)),
                ('is_shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='projects.project')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SharedLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(max_length=12, unique=True)),
                ('digest', models.CharField(max_length=64)),
                ('page', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('creator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shared_links', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shared_links', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('member', 'Member'), ('admin', 'Admin')], default='member', max_length=10)),
                ('by_provider', models.BooleanField(db_default=False, default=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='projects.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'user'), name='membership_once')],
            },
        ),
        migrations.CreateModel(
            name='ProviderIdentity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('issuer', models.CharField(max_length=400)),
                ('subject', models.CharField(max_length=255)),
                ('made_superuser', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='provider_identity', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='identity_once')],
            },
        ),
        migrations.RunSQL(KEEP_AUDIT_ENTRIES, "DROP FUNCTION projects_keep_audit_entry() CASCADE"),
    ]
