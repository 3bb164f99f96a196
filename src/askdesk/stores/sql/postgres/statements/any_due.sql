-- By the soonest deadline, which the index has: how many there are up to some moment the planner cannot know.
SELECT min(deadline) <= $1 FROM askdesk.asks WHERE settlement IS NULL
