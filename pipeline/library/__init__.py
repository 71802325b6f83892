"""What lies in folders and is held to a schema: tasks, submissions, rubrics, prompts."""
