-- A commit that comes after all that was found here: once this one is durable, that is, on the disk and on every standby
-- that is waited for. Where a database starts anew it also shows what it had not yet acknowledged to anybody.
SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END,
       pg_logical_emit_message(true, 'askdesk', '')
