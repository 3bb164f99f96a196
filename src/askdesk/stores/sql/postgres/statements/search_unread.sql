SELECT seq, changed, record, settlement, id FROM askdesk.search_unread JOIN askdesk.asks ON asks.seq = search_unread.ask
