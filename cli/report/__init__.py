"""Results as text: tables for people, JSON, CSV and Markdown for programs. Nothing here computes."""
