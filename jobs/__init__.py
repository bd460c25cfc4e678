"""Entry points for spark-submit: arguments -> session -> call -> exit code."""
