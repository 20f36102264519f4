"""The entries for Celery: evaluating alerts, and sending their messages."""

from celery import shared_task

from aggregate.task_turns import work_in_turns
from alerts.delivery.sending import send_due
from alerts.evaluating import evaluate_due


@shared_task(name="alerts.evaluate", ignore_result=True)
def evaluate() -> None:
    """Evaluates the alerts that are due."""
    work_in_turns(evaluate.name, evaluate_due)


@shared_task(name="alerts.send_messages", ignore_result=True)
def send_messages() -> None:
    """Sends messages about states that changed."""
    work_in_turns(send_messages.name, send_due)
