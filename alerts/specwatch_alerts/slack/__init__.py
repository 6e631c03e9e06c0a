"""From Alertmanager's webhook to one Slack message per group of alerts: nothing lost, nothing said twice."""
