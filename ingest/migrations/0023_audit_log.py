"""The log of administration, and the trigger that keeps it: entries are never changed, and deleted only when due."""

from django.db import migrations, models

PROTECT = """
CREATE FUNCTION ingest_keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.kept_until <= now() THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The audit log is append-only: % is refused.', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER audit_rows_are_kept BEFORE UPDATE OR DELETE ON ingest_auditentry
    FOR EACH ROW EXECUTE FUNCTION ingest_keep_audit_entry();
CREATE TRIGGER audit_table_is_kept BEFORE TRUNCATE ON ingest_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION ingest_keep_audit_entry();
"""
UNPROTECT = """
DROP TRIGGER audit_table_is_kept ON ingest_auditentry;
DROP TRIGGER audit_rows_are_kept ON ingest_auditentry;
DROP FUNCTION ingest_keep_audit_entry();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0020_sample_project'),
    ]

    operations = [
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
                'indexes': [
                    models.Index(fields=['project_number', '-id'], name='audit_by_project'),
                    models.Index(fields=['kept_until'], name='audit_to_expire'),
                ],
            },
        ),
        migrations.RunSQL(PROTECT, UNPROTECT),
    ]
