"""All tables of sums, source maps and jobs."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

# Views: an index in the uniform order of samples. The key is the first 63 bits of the SHA-256 of the view's id, as in
# profcore.stats.sampling.
SAMPLE_KEY = """
CREATE FUNCTION fieldflame_sample_key(view_id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(substr(sha256(uuid_send(view_id)), 1, 8), 'hex'))::bit(64)::bigint & 9223372036854775807 $$
"""
# Hotspots: a view with a row for each function of a piece. Arrays are compressed from 128 bytes on and stay in the row:
# out of line, each would need a row and an index entry.
HOTSPOTS = """
ALTER TABLE aggregate_hotspotpiece
    ALTER COLUMN func_ids SET STORAGE MAIN,
    ALTER COLUMN self_samples SET STORAGE MAIN,
    ALTER COLUMN total_samples SET STORAGE MAIN,
    ALTER COLUMN self_us SET STORAGE MAIN,
    ALTER COLUMN total_us SET STORAGE MAIN,
    ALTER COLUMN hidden_us SET STORAGE MAIN,
    ALTER COLUMN hidden_total_us SET STORAGE MAIN,
    ALTER COLUMN uncertain_us SET STORAGE MAIN,
    ALTER COLUMN views SET STORAGE MAIN,
    SET (toast_tuple_target = 128);
CREATE VIEW aggregate_hotspot AS
SELECT s.project_id, s.cell_id, s.func_id, s.self_samples, s.total_samples, s.self_us, s.total_us,
       COALESCE(s.hidden_us, 0) AS hidden_us, COALESCE(s.hidden_total_us, 0) AS hidden_total_us,
       COALESCE(s.uncertain_us, 0) AS uncertain_us, s.views
FROM (SELECT p.project_id, p.cell_id, unnest(p.func_ids) AS func_id,
             unnest(p.self_samples) AS self_samples, unnest(p.total_samples) AS total_samples,
             unnest(p.self_us) AS self_us, unnest(p.total_us) AS total_us,
             unnest(p.hidden_us) AS hidden_us, unnest(p.hidden_total_us) AS hidden_total_us,
             unnest(p.uncertain_us) AS uncertain_us, unnest(p.views) AS views
      FROM aggregate_hotspotpiece p) AS s;
"""
# Source maps and results of jobs: these columns are gzip already, so PostgreSQL does not compress them again.
GZIP_COLUMNS = """
ALTER TABLE aggregate_artifact ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE aggregate_source ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE aggregate_jobpiece ALTER COLUMN body SET STORAGE EXTERNAL;
"""
# Tables of which many rows are dead soon are vacuumed earlier than by default, which is at a fifth of dead rows. Pieces are
# appended and merged: nearly all of them are dead within minutes. Views are replaced when they grow.
VACUUM = """
ALTER TABLE aggregate_hotspotpiece SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
    toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 2000);
ALTER TABLE aggregate_calltreepiece SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
    toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 2000);
ALTER TABLE aggregate_pageview SET (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
    toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_threshold = 5000);
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ingest', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL(SAMPLE_KEY, "DROP FUNCTION fieldflame_sample_key(uuid)"),
        migrations.CreateModel(
            name='WorkerLease',
            fields=[
                ('token', models.UUIDField(primary_key=True, serialize=False)),
                ('host', models.TextField()),
                ('process', models.TextField()),
                ('started_at', models.DateTimeField()),
                ('heartbeat_at', models.DateTimeField()),
                ('fold_version', models.SmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='QueueTurn',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'queue', blank=True, editable=False, primary_key=True, serialize=False)),
                ('queue', models.SmallIntegerField(choices=[(0, 'Jobs'), (1, 'Scripts')])),
                ('last_turn_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='FuncScan',
            fields=[
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='projects.project')),
                ('func_id', models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='StoreSize',
            fields=[
                ('measured_at', models.DateTimeField(primary_key=True, serialize=False)),
                ('database_bytes', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='CallTreePiece',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'cell_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('cell_id', models.IntegerField()),
                ('id', models.IntegerField()),
                ('node_count', models.IntegerField()),
                ('blob', models.BinaryField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='DayHotspot',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'group_id', 'day_at', 'func_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('group_id', models.IntegerField()),
                ('func_id', models.IntegerField()),
                ('day_at', models.DateTimeField()),
                ('self_samples', models.BigIntegerField()),
                ('total_samples', models.BigIntegerField()),
                ('self_us', models.BigIntegerField()),
                ('total_us', models.BigIntegerField()),
                ('hidden_us', models.BigIntegerField()),
                ('hidden_total_us', models.BigIntegerField()),
                ('uncertain_us', models.BigIntegerField(db_default=0, default=0)),
                ('views', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='DayTreePiece',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'group_id', 'day_at', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('group_id', models.IntegerField()),
                ('day_at', models.DateTimeField()),
                ('id', models.IntegerField()),
                ('node_count', models.IntegerField()),
                ('blob', models.BinaryField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='FuncDay',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day_on', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day_on', models.DateField()),
                ('made', models.IntegerField()),
                ('beyond', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='HotspotPiece',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'cell_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('cell_id', models.IntegerField()),
                ('id', models.IntegerField()),
                ('func_ids', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('self_samples', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('total_samples', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('self_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('total_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('hidden_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, size=None)),
                ('hidden_total_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, size=None)),
                ('uncertain_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, size=None)),
                ('views', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='InlineOrigin',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'origin', blank=True, editable=False, primary_key=True, serialize=False)),
                ('origin', models.TextField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='JobPiece',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'job_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('job_id', models.UUIDField()),
                ('number', models.IntegerField()),
                ('body', models.BinaryField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='RefoldRun',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('release', models.TextField(null=True)),
                ('from_at', models.DateTimeField(null=True)),
                ('to_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
                ('fold_version', models.SmallIntegerField(db_default=0)),
                ('first_new_cell_id', models.IntegerField()),
                ('last_cell_id', models.IntegerField(default=0)),
                ('cells', models.IntegerField(default=0)),
                ('kept_cells', models.IntegerField(default=0)),
                ('is_background', models.BooleanField(db_default=False, default=False)),
                ('total_cells', models.IntegerField(null=True)),
                ('paused_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('kind', models.SmallIntegerField(choices=[(0, 'Bundle'), (1, 'Map')])),
                ('digest', models.BinaryField()),
                ('debug_id', models.UUIDField(null=True)),
                ('size_bytes', models.BigIntegerField()),
                ('body', models.BinaryField()),
                ('created_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('debug_id__isnull', False)), fields=['project', 'debug_id'], name='artifact_by_debug_id')],
                'constraints': [models.UniqueConstraint(fields=('project', 'digest', 'kind'), name='artifact_once')],
            },
        ),
        migrations.CreateModel(
            name='Cell',
            fields=[
                ('js_us', models.BigIntegerField()),
                ('hidden_us', models.BigIntegerField()),
                ('engine_us', models.BigIntegerField(db_default=0, default=0)),
                ('idle_us', models.BigIntegerField()),
                ('unobserved_us', models.BigIntegerField()),
                ('profiler_us', models.BigIntegerField()),
                ('span_us', models.BigIntegerField()),
                ('js_samples', models.BigIntegerField()),
                ('hidden_samples', models.BigIntegerField()),
                ('engine_samples', models.BigIntegerField(db_default=0, default=0)),
                ('idle_samples', models.BigIntegerField()),
                ('profiler_samples', models.BigIntegerField()),
                ('marker_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, size=None)),
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('group_id', models.IntegerField()),
                ('starts_at', models.DateTimeField()),
                ('grain', models.SmallIntegerField(choices=[(0, 'Hour'), (1, 'Day')], default=0)),
                ('device_class', models.SmallIntegerField()),
                ('browser', models.SmallIntegerField()),
                ('navigation', models.SmallIntegerField(db_default=0)),
                ('cache', models.SmallIntegerField(db_default=0)),
                ('environment', models.SmallIntegerField(db_default=0)),
                ('sdk', models.SmallIntegerField(db_default=0)),
                ('capture', models.SmallIntegerField(db_default=0)),
                ('merged_into', models.IntegerField(null=True)),
                ('is_rolled', models.BooleanField(db_default=False, default=False)),
                ('fold_version', models.SmallIntegerField()),
                ('views', models.BigIntegerField()),
                ('truncated_views', models.BigIntegerField(db_default=0)),
                ('traces', models.BigIntegerField()),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('grain', 0), ('merged_into__isnull', True)), fields=['starts_at'], name='cell_to_merge'), models.Index(condition=models.Q(('is_rolled', False), ('merged_into', None)), fields=['starts_at'], name='cell_to_roll'), models.Index(fields=['project', 'starts_at'], name='cell_by_bucket')],
                'constraints': [models.UniqueConstraint(fields=('project', 'group_id', 'starts_at', 'grain', 'device_class', 'browser', 'navigation', 'cache', 'environment', 'sdk', 'capture'), name='cell_once')],
            },
        ),
        migrations.CreateModel(
            name='Func',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('digest', models.BinaryField()),
                ('name', models.TextField()),
                ('uri', models.TextField(null=True)),
                ('line', models.BigIntegerField(null=True)),
                ('column', models.BigIntegerField(db_column='col', null=True)),
                ('unused_since', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(models.F('project'), django.db.models.functions.text.MD5('uri'), models.F('id'), condition=models.Q(('uri__isnull', False)), name='func_by_uri'), models.Index(condition=models.Q(('unused_since__isnull', False)), fields=['project'], name='func_unused')],
                'constraints': [models.UniqueConstraint(fields=('project', 'digest'), name='func_once')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField()),
                ('kind', models.CharField(max_length=20)),
                ('params', models.JSONField()),
                ('counts', models.JSONField(null=True)),
                ('link', models.TextField()),
                ('state', models.SmallIntegerField(choices=[(0, 'Queued'), (1, 'Running'), (2, 'Done'), (3, 'Failed'), (4, 'Cancelled')], default=0)),
                ('done_traces', models.BigIntegerField(default=0)),
                ('total_traces', models.BigIntegerField(null=True)),
                ('error_field', models.TextField(null=True)),
                ('error_detail', models.TextField(null=True)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('attempts', models.SmallIntegerField(default=0)),
                ('claim_token', models.UUIDField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('content_type', models.TextField(null=True)),
                ('file_name', models.TextField(null=True)),
                ('result_bytes', models.BigIntegerField(default=0)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__lte', 1)), fields=['created_at'], name='job_queue'), models.Index(fields=['project', 'created_at'], name='job_by_age')],
            },
        ),
        migrations.CreateModel(
            name='Label',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'func_id', 'release', blank=True, editable=False, primary_key=True, serialize=False)),
                ('func_id', models.IntegerField()),
                ('release', models.TextField()),
                ('script_id', models.IntegerField()),
                ('map_id', models.IntegerField()),
                ('is_shared', models.BooleanField()),
                ('status', models.SmallIntegerField(choices=[(0, 'Mapped'), (1, 'Unmapped')])),
                ('source_id', models.IntegerField(null=True)),
                ('line', models.IntegerField(null=True)),
                ('column', models.IntegerField(db_column='col', null=True)),
                ('name', models.TextField(null=True)),
                ('body_hash', models.BinaryField(null=True)),
                ('standing', models.TextField(null=True)),
                ('first_line', models.IntegerField(null=True)),
                ('last_line', models.IntegerField(null=True)),
                ('text_digest', models.BinaryField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'script_id'], name='label_of_script'), models.Index(condition=models.Q(('source_id__isnull', False)), fields=['project', 'source_id'], name='label_of_source'), models.Index(condition=models.Q(('body_hash__isnull', False)), fields=['project', 'body_hash'], name='label_by_body')],
            },
        ),
        migrations.CreateModel(
            name='PageDay',
            fields=[
                ('js_us', models.BigIntegerField()),
                ('hidden_us', models.BigIntegerField()),
                ('engine_us', models.BigIntegerField(db_default=0, default=0)),
                ('idle_us', models.BigIntegerField()),
                ('unobserved_us', models.BigIntegerField()),
                ('profiler_us', models.BigIntegerField()),
                ('span_us', models.BigIntegerField()),
                ('js_samples', models.BigIntegerField()),
                ('hidden_samples', models.BigIntegerField()),
                ('engine_samples', models.BigIntegerField(db_default=0, default=0)),
                ('idle_samples', models.BigIntegerField()),
                ('profiler_samples', models.BigIntegerField()),
                ('pk', models.CompositePrimaryKey('project_id', 'group_id', 'day_at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('group_id', models.IntegerField()),
                ('day_at', models.DateTimeField()),
                ('views', models.BigIntegerField()),
                ('truncated_views', models.BigIntegerField()),
                ('traces', models.BigIntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'day_at'], name='pageday_by_day')],
            },
        ),
        migrations.CreateModel(
            name='UploadChunk',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'digest', blank=True, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BinaryField()),
                ('body', models.BinaryField()),
                ('created_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='ReleaseScript',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('release', models.TextField()),
                ('uri', models.TextField()),
                ('file', models.TextField()),
                ('is_shared', models.BooleanField()),
                ('bundle_id', models.IntegerField(null=True)),
                ('map_id', models.IntegerField(null=True)),
                ('debug_id', models.UUIDField(null=True)),
                ('uploaded_at', models.DateTimeField()),
                ('labelled_func_id', models.IntegerField(default=0)),
                ('pending_at', models.DateTimeField(null=True)),
                ('attempts', models.IntegerField(default=0)),
                ('claim_token', models.UUIDField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('failure', models.TextField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(models.F('project'), django.db.models.functions.text.MD5('uri'), name='release_script_by_uri'), models.Index(condition=models.Q(('pending_at__isnull', False)), fields=['pending_at'], name='release_script_queue'), models.Index(condition=models.Q(('debug_id__isnull', False)), fields=['project', 'debug_id'], name='release_script_debug_id')],
                'constraints': [models.UniqueConstraint(models.F('project'), models.F('release'), django.db.models.functions.text.MD5('uri'), name='release_script_once')],
            },
        ),
        migrations.CreateModel(
            name='Source',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('digest', models.BinaryField()),
                ('name', models.TextField()),
                ('path', models.TextField()),
                ('content', models.BinaryField(null=True)),
                ('size_bytes', models.BigIntegerField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'digest'), name='source_once')],
            },
        ),
        migrations.CreateModel(
            name='VerdictLook',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'question', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('question', models.BinaryField()),
                ('number', models.SmallIntegerField()),
                ('looked_at', models.DateTimeField()),
                ('reached', models.FloatField()),
                ('information', models.FloatField()),
                ('bound', models.FloatField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'looked_at'], name='look_by_age')],
            },
        ),
        migrations.CreateModel(
            name='PageView',
            fields=[
                ('traits', models.SmallIntegerField(db_default=0)),
                ('session', models.BigIntegerField(null=True)),
                ('js_us', models.BigIntegerField()),
                ('hidden_us', models.BigIntegerField()),
                ('engine_us', models.BigIntegerField(db_default=0, default=0)),
                ('idle_us', models.BigIntegerField()),
                ('unobserved_us', models.BigIntegerField()),
                ('profiler_us', models.BigIntegerField()),
                ('span_us', models.BigIntegerField()),
                ('marker_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, size=None)),
                ('pk', models.CompositePrimaryKey('project_id', 'view_id', 'group_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('view_id', models.UUIDField()),
                ('group_id', models.IntegerField()),
                ('cell_id', models.IntegerField()),
                ('traces', models.IntegerField()),
                ('is_truncated', models.BooleanField()),
                ('fold_version', models.SmallIntegerField()),
                ('sample_rate', models.FloatField(null=True)),
                ('contribution', models.BinaryField()),
                ('js_samples', models.IntegerField()),
                ('hidden_samples', models.IntegerField()),
                ('engine_samples', models.IntegerField(db_default=0, default=0)),
                ('idle_samples', models.IntegerField()),
                ('profiler_samples', models.IntegerField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(models.F('project'), models.F('cell_id'), models.Func('view_id', function='fieldflame_sample_key'), name='view_to_sample')],
            },
        ),
        migrations.RunSQL(HOTSPOTS, "DROP VIEW aggregate_hotspot"),
        migrations.RunSQL(GZIP_COLUMNS, migrations.RunSQL.noop),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
    ]
