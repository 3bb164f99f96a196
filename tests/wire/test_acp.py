"""Claude's calls, plans and asks as an editor shows them, and what an editor answers: nothing is sent, nothing runs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from askdesk.adapters.claude_sdk import ASK_TOOL
from askdesk.core.model import Allowed, Answer, Denied, Permission, Question
from askdesk.wire import acp, acp_ask, acp_tool, tool
from askdesk.wire.acp_ask import Place, QuestionByPermission

PLACE = Place("session_1", "toolu_1")


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


def seed(multi: bool = False) -> dict[str, Any]:
    return {
        "questions": [
            {
                "question": "Which framework do you prefer?",
                "header": "Framework",
                "options": [
                    {"label": "React", "description": "Popular UI library"},
                    {"label": "Vue", "description": "Progressive framework"},
                ],
                "multiSelect": multi,
            }
        ]
    }


def question(multi: bool = False) -> Question:
    return tool.parse(seed(multi)).items[0]


def selected(option: str, **meta: Any) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option, **({"_meta": meta} if meta else {})}}


def test_questions_are_shown_as_clients_of_the_permission_shape_know_them() -> None:
    assert acp_tool.tool_info("AskUserQuestion", seed()).written == {
        "title": "Framework",
        "kind": "think",
        "content": [
            text("Which framework do you prefer?\n  - React: Popular UI library\n  - Vue: Progressive framework")
        ],
    }


def test_our_own_tool_is_shown_with_its_questions_which_may_be_more() -> None:
    assert acp_tool.OWN_TOOL == ASK_TOOL
    asked = [{"question": f"Which {n}?", "header": "It", "options": [{"label": "a"}, {"label": "b"}]} for n in range(6)]
    info = acp_tool.tool_info(ASK_TOOL, {"questions": asked})
    words = "\n\n".join(f"Which {n}?\n  - a\n  - b" for n in range(6))
    assert (info.title, info.kind, info.content) == ("It", "think", (text(words),))


def test_questions_that_break_the_rules_are_shown_as_they_came() -> None:
    info = acp_tool.tool_info("AskUserQuestion", {"questions": "none"})
    assert (info.title, info.kind) == ("AskUserQuestion", "think")
    assert info.content == (text('```json\n{\n  "questions": "none"\n}\n```'),)


@pytest.mark.parametrize(
    ("name", "given", "title", "kind", "content", "locations"),
    [
        ("Bash", {"command": "ls\n-l"}, "`ls\\n-l`", "execute", [text("```sh\nls\n-l\n```")], []),
        (
            "Edit",
            {"file_path": "/srv/a.py", "old_string": "1", "new_string": "2\t3"},
            "Edit a.py",
            "edit",
            [{"type": "diff", "path": "/srv/a.py", "oldText": "1", "newText": "2\t3"}],
            [{"path": "/srv/a.py"}],
        ),
        (
            "MultiEdit",
            {
                "file_path": "/else/a.py",
                "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "", "new_string": "x"}],
            },
            "Edit /else/a.py",
            "edit",
            [
                {"type": "diff", "path": "/else/a.py", "oldText": "1", "newText": "2"},
                {"type": "diff", "path": "/else/a.py", "oldText": None, "newText": "x"},
            ],
            [{"path": "/else/a.py"}],
        ),
        (
            "Write",
            {"file_path": "/srv/a.py", "content": "x\n"},
            "Write a.py",
            "edit",
            [{"type": "diff", "path": "/srv/a.py", "oldText": None, "newText": "x\n"}],
            [{"path": "/srv/a.py"}],
        ),
        (
            "Read",
            {"file_path": "/srv/a.py", "offset": 10, "limit": 5},
            "Read a.py (10 - 14)",
            "read",
            [],
            [{"path": "/srv/a.py", "line": 10}],
        ),
        ("Grep", {"pattern": "x", "path": "src"}, 'grep "x" src', "search", [], []),
        ("Glob", {"pattern": "*.py"}, "Find `*.py`", "search", [], []),
        (
            "WebFetch",
            {"url": "https://a.b", "prompt": "sum"},
            "Fetch https://a.b",
            "fetch",
            [text("```\nsum\n```")],
            [],
        ),
        ("WebSearch", {"query": "acp"}, 'Search "acp"', "fetch", [], []),
        ("Task", {"description": "Look", "prompt": "around"}, "Look", "think", [text("```\naround\n```")], []),
        ("ExitPlanMode", {"plan": "# Do"}, "Approve the plan", "switch_mode", [text("# Do")], []),
        ("mcp__x__y", {"a": 1}, "mcp__x__y", "other", [text('```json\n{\n  "a": 1\n}\n```')], []),
        ("Bash", {"command": ["rm"]}, "Terminal", "execute", [], []),
    ],
)
def test_a_call_has_a_title_a_kind_content_and_places(
    name: str, given: dict[str, Any], title: str, kind: str, content: list[Any], locations: list[Any]
) -> None:
    info = acp_tool.tool_info(name, given, "/srv")
    assert (info.title, info.kind, [*info.content], [*info.locations]) == (title, kind, content, locations)


def test_who_decides_on_a_call_sees_all_of_its_input() -> None:
    for name, given in (
        ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}),
        ("Edit", {"file_path": "/a", "old_string": "1", "new_string": "2", "replace_all": True}),
        ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "1", "new_string": "2", "replace_all": True}]}),
        ("Bash", {"command": ["rm", "-r"]}),
        ("Write", {"file_path": "/a", "path": "/other", "content": "x"}),
        ("WebFetch", {"url": f"https://a.b/{'x' * 300}", "prompt": "sum"}),
        ("Edit", {"old_string": "1", "new_string": "2"}),
        ("mcp__x__y", {"deep": {"er": [1]}}),
    ):
        info = acp_tool.permission_info(Permission(name, given))
        seen = json.dumps([info.title, *info.content], ensure_ascii=False)
        hidden = [value for value in given.values() if isinstance(value, str) and value not in seen]
        assert hidden == []
        assert [key for key, value in given.items() if not isinstance(value, str) and key not in seen] == []


def test_a_plan_hides_nothing_in_a_comment() -> None:
    info = acp_tool.permission_info(Permission("ExitPlanMode", {"plan": "Tidy up <!-- and delete everything -->"}))
    assert info.content == (text("Tidy up \\<!-- and delete everything -->"),)


def test_what_the_agent_says_of_a_call_is_shown_as_its_own_words() -> None:
    info = acp_tool.permission_info(Permission("Bash", {"command": "rm x"}, description="only looks"))
    assert info.content[-1] == text("The agent says:\n```\nonly looks\n```")
    plan = acp_tool.permission_info(Permission("ExitPlanMode", {}, description="# The plan"))
    assert plan.content == (text("# The plan"),)


def test_hostile_text_reaches_no_screen_as_it_is() -> None:
    evil = "a\x1b[2J\u202eb"
    permission = Permission("Bash", {"command": evil}, suggestions=[{"type": "setMode", "mode": evil}])
    request = acp_ask.permission_request(PLACE, permission)
    raw = request["toolCall"].pop("rawInput")
    assert raw == {"command": evil}
    assert "\\u001b" not in json.dumps(request)
    assert "\\u202e" not in json.dumps(request)
    assert acp_tool.screened("\x1b[1mx\ty") == "\\x1b[1mx\ty"
    assert acp_tool.fenced("```\nout") == "````\n```\nout\n````"


def test_a_permission_offers_always_only_where_claude_code_proposed_it() -> None:
    request = acp_ask.permission_request(PLACE, Permission("Bash", {"command": "ls"}))
    assert request["options"] == [
        {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
        {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    ]


def test_each_rule_that_was_proposed_is_an_option_by_its_name() -> None:
    rules: list[dict[str, Any]] = [
        {
            "type": "addRules",
            "behavior": "allow",
            "destination": "localSettings",
            "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}, {"toolName": "Read"}],
        },
        {"type": "addDirectories", "destination": "session", "directories": ["/home/x"]},
        {"type": "addRules", "behavior": "deny", "rules": [{"toolName": "Bash"}]},
        {"type": "addDirectories", "destination": "session", "directories": ["/long" * 60]},
    ]
    permission = Permission("Bash", {"command": "npm test"}, suggestions=rules)
    options = acp_ask.permission_request(PLACE, permission)["options"]
    assert [option["name"] for option in options] == [
        "Allow",
        "Always allow Bash(npm test *), every call of Read (kept in localSettings)",
        "Allow, and open /home/x to it (this session)",
        f"Allow, and keep this rule: {permission.suggestions[2]}",
        "Reject",
    ]
    assert acp_ask.permission_reply(permission, selected("allow_always_1")) == Allowed(
        remember=(permission.suggestions[1],)
    )
    assert acp_ask.permission_reply(permission, selected("allow_always_3")) is None  # too long to be read


@pytest.mark.parametrize(
    ("result", "reply"),
    [
        (selected("allow"), Allowed()),
        (selected("reject"), Denied()),
        ({"outcome": {"outcome": "cancelled"}}, Denied(stop=True)),
        (selected("allow_always_0"), None),
        (selected("yes"), None),
        ({"outcome": {"outcome": "_custom", "optionId": "allow"}}, None),
        ({"outcome": {"outcome": "selected", "optionId": 1}}, None),
        ({"outcome": "selected", "optionId": "allow"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_only_what_was_offered_and_picked_is_a_reply_to_a_permission(result: Any, reply: Any) -> None:
    assert acp_ask.permission_reply(Permission("Bash", {"command": "ls"}), result) == reply


def test_the_exact_shape_is_that_of_older_clients_to_the_byte() -> None:
    request = QuestionByPermission(question(), "exact").request(PLACE)
    assert json.dumps(request) == json.dumps(
        {
            "options": [
                {"kind": "allow_once", "name": "React - Popular UI library", "optionId": "React"},
                {"kind": "allow_once", "name": "Vue - Progressive framework", "optionId": "Vue"},
                {"kind": "allow_once", "name": "Other (type custom answer)", "optionId": "__other__"},
            ],
            "sessionId": "session_1",
            "toolCall": {
                "toolCallId": "toolu_1",
                "rawInput": {"question": "Which framework do you prefer?", "header": "Framework"},
                "title": "Framework",
            },
            "_meta": {"claudeCode": {"questionType": "askUserQuestion", "multiSelect": False}},
        }
    )


def test_the_safe_shape_puts_a_way_to_skip_first_and_one_to_cancel_last() -> None:
    exact = QuestionByPermission(question(), "exact").request(PLACE)["options"]
    assert QuestionByPermission(question(), "safe").request(PLACE)["options"] == [
        {"kind": "allow_once", "name": "Skip this question", "optionId": "__skip__"},
        *exact,
        {"kind": "reject_once", "name": "Cancel", "optionId": "__cancel__"},
    ]


@pytest.mark.parametrize(
    ("result", "heard", "answer"),
    [
        (selected("Vue"), "done", Answer(("Vue",))),
        (selected("__other__", customText="Svelte"), "done", Answer(other="Svelte")),
        (selected("Vue", customText="for now"), "done", Answer(("Vue",), note="for now")),
        (selected("__other__"), "done", None),
        (selected("__other__", customText="  "), "done", None),
        (selected("__other__", customText=7), "done", None),
        (selected("__skip__"), "done", None),
        (selected("__cancel__"), "cancelled", None),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled", None),
        (selected("__done__"), "nothing", None),
        (selected("Svelte"), "nothing", None),
        ({"outcome": {"outcome": "_new"}}, "nothing", None),
        ([], "nothing", None),
        (selected("Vue", selected=["Vue", "React"]), "more", None),
    ],
)
def test_one_of_several_is_picked_with_one_request(result: Any, heard: str, answer: Answer | None) -> None:
    asked = QuestionByPermission(question(), "safe")
    assert asked.hear(result) == heard
    assert asked.answer == answer


def test_several_are_collected_until_done() -> None:
    asked = QuestionByPermission(question(multi=True), "exact")
    assert asked.hear(selected("Vue")) == "more"
    request = asked.request(PLACE)
    assert [option["optionId"] for option in request["options"]] == ["__done__", "React", "__other__"]
    assert request["toolCall"]["rawInput"]["selected"] == ["Vue"]
    assert asked.hear(selected("__other__", customText="Svelte")) == "more"
    assert asked.hear(selected("__done__")) == "done"
    assert asked.answer == Answer(("Vue",), "Svelte", multi_select=True)


@pytest.mark.parametrize(
    "result",
    [
        selected("React", selected=["Vue", "React"]),
        selected("React, Vue"),
        selected("__other__", selected=["Vue", "React"]),
    ],
)
def test_a_client_that_can_tells_several_at_once(result: Any) -> None:
    asked = QuestionByPermission(question(multi=True), "safe")
    assert asked.hear(result) == "done"
    assert asked.answer == Answer(("React", "Vue"), multi_select=True)


def test_a_label_that_could_be_taken_for_an_entry_of_ours_gets_another_id() -> None:
    odd = Question("Which?", options=["__skip__", "b\u202ec"], header="Odd")
    asked = QuestionByPermission(odd, "safe")
    ids = [option["optionId"] for option in asked.request(PLACE)["options"]]
    assert ids == ["__skip__", "__option_0__", "__option_1__", "__other__", "__cancel__"]
    assert asked.hear(selected("__option_0__")) == "done"
    assert asked.answer == Answer(("__skip__",))


def test_something_else_is_never_an_option_that_is_called_so() -> None:
    odd = Question("Which?", options=["__other__", "b"], header="Odd", multi_select=True)
    asked = QuestionByPermission(odd, "safe")
    assert asked.hear(selected("__other__", customText="c")) == "more"
    assert asked.hear(selected("__done__")) == "done"
    assert asked.answer == Answer(other="c", multi_select=True)


def test_what_is_said_with_the_end_counts_and_with_a_skip_it_is_asked_again() -> None:
    asked = QuestionByPermission(question(multi=True), "safe")
    assert asked.hear(selected("__skip__", selected=["Vue"])) == "more"
    assert asked.hear(selected("__skip__", customText="Svelte")) == "more"
    assert asked.answer is None
    assert asked.hear(selected("Vue")) == "more"
    assert asked.hear(selected("__done__", selected=["React"], customText="Svelte")) == "done"
    assert asked.answer == Answer(("React", "Vue"), "Svelte", multi_select=True)


@pytest.mark.parametrize("command", ["ls\n   ```\nrm -r /", "ls ````` x", "echo `date`", "`a`"])
def test_no_command_ends_the_block_that_shows_it(command: str) -> None:
    info = acp_tool.tool_info("Bash", {"command": command})
    marks = re.match("`+", info.title)
    assert marks
    assert info.title.endswith(marks[0])
    assert marks[0] not in info.title[len(marks[0]) : -len(marks[0])]
    block = info.content[0]["content"]["text"]
    fence = re.match("`+", block)
    assert fence
    assert block.count(fence[0]) == 2


def test_what_came_of_a_change_is_the_change() -> None:
    structure = {
        "filePath": "/a.py",
        "structuredPatch": [{"newStart": 3, "lines": [" same", "-old", "+new"]}],
    }
    assert acp.tool_result("t", "Edit", "The file was updated", structure, failed=False) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "completed",
        "content": [{"type": "diff", "path": "/a.py", "oldText": "same\nold", "newText": "same\nnew"}],
        "locations": [{"path": "/a.py", "line": 3}],
        "rawOutput": "The file was updated",
        "_meta": {"claudeCode": {"toolName": "Edit"}},
    }


def test_what_failed_says_so() -> None:
    update = acp.tool_result("t", "Edit", "<tool_use_error>No such file</tool_use_error>", None, failed=True)
    assert (update["status"], update["content"]) == ("failed", [text("```\nNo such file\n```")])


def test_a_plan_grows_with_the_tasks() -> None:
    plan = acp.Plan()
    created = {"subject": "Mend it", "description": "…", "activeForm": "Mending it"}
    first = plan.ended("TaskCreate", created, "", {"task": {"id": "1", "subject": "Mend it"}})
    assert first == {
        "sessionUpdate": "plan",
        "entries": [{"content": "Mend it", "status": "pending", "priority": "medium"}],
    }
    second = plan.ended("TaskUpdate", {"taskId": "1", "status": "in_progress"}, "", {"success": True})
    assert second
    assert second["entries"] == [{"content": "Mending it", "status": "in_progress", "priority": "medium"}]
    gone = plan.ended("TaskUpdate", {"taskId": "1", "status": "deleted"}, "", {})
    assert gone
    assert gone["entries"] == []
    again = plan.ended("TaskCreate", created, "Task #7 created successfully: Mend it", None)
    assert again == first
    assert plan.ended("TaskUpdate", {"taskId": "9", "status": "completed"}, "", {}) is None


def test_a_client_has_the_ways_that_it_names() -> None:
    assert acp.client(None) == acp.client({"elicitation": {}}) == acp.client({"elicitation": None}) == acp.Client()
    assert acp.client({"elicitation": {"form": {}, "url": None}}) == acp.Client(form=True)
    assert acp.client({"elicitation": {"url": {}}, "_meta": {"jetbrains": {"air": {}}}}) == acp.Client(
        url=True, air=True
    )


def test_the_mode_that_is_on_is_offered_whatever_it_is() -> None:
    offered = acp.modes("dontAsk")
    assert offered["currentModeId"] == "dontAsk"
    assert [mode["id"] for mode in offered["availableModes"]] == ["default", "acceptEdits", "plan", "auto", "dontAsk"]
