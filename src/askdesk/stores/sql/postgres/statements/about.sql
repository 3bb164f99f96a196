SELECT current_setting('server_version') AS server, version AS schema FROM askdesk.schema
