"""A user's journey through the pop-up service, for Locust: opens the home page, sees a pop-up, closes or clicks it, comes back.

    locust -f bench/popup/locustfile.py --host http://127.0.0.1:8080 --headless --users 500 --spawn-rate 100 \\
        --run-time 60s --processes -1 --html bench/out/popup.html

It must not know how the service works. A confirmed answer of the wrong form counts as a failure.
"""

from __future__ import annotations

import random

from locust import FastHttpUser, between, task

USERS = 200_000


class Visitor(FastHttpUser):
    """One client application, which users use one after another."""

    wait_time = between(0.5, 2.0)

    @task
    def opens_the_home_page(self) -> None:
        number = random.randrange(USERS)
        visitor = {"user": f"u{number}", "platform": "ios" if number % 5 == 0 else "web", "version": f"5.{number % 7}.1"}
        popup = self.ask(visitor)
        if popup is None:
            return
        self.report(popup, "shown")
        # One of five clicks, and goes on to the next pop-up at once.
        if random.random() < 0.2:
            self.report(popup, "clicked")
            self.ask(visitor)
        else:
            self.report(popup, "closed")

    def ask(self, visitor: dict[str, str]) -> dict | None:
        with self.rest("POST", "/v1/ask", json=visitor) as answer:
            if answer.js is None or "popup" not in answer.js:
                answer.failure(f"not an answer: {answer.text}")
                return None
            return answer.js["popup"]

    def report(self, popup: dict, operation: str) -> None:
        with self.rest("POST", "/v1/operations", json={"display": popup["display"], "operation": operation}, name=f"/v1/operations {operation}") as answer:
            if answer.js != {"recorded": True}:
                answer.failure(f"not recorded: {answer.text}")
