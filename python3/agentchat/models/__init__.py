"""Model servers and the built-in planner that stands in for one."""
