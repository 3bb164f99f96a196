ANALYZE askdesk.search
