"""For tests of whatever is built on askdesk: a clock to turn, people who answer by script, and the store contracts."""
