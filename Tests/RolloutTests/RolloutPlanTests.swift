import JSON
import Rollout
import Testing

/// The contents of rollout.json, and of `PUT /v1/models/NAME/rollout`.
@Suite struct RolloutPlanTests {
    private static func value(_ text: String) throws -> JSONValue { try JSONTree.read(Array(text.utf8), .json).value }
    private static func plan(_ text: String) throws -> RolloutPlan { try RolloutPlan(value(text)) }

    /// The example of docs/http-api.md, with members that only answers have.
    @Test("a whole plan is read, and members that only answers have are ignored")
    func theWholeIsRead() throws {
        let plan = try Self.plan(
            """
            { "serve": "2", "labels": { "stable": "2" }, "candidate": { "version": "3", "share": 0.1, "shadow": 0.05 },
              "promote": { "after": 2000, "agreement": 0.98, "latency": 1.2 },
              "state": "comparing", "compared": 412, "skipped": 3, "agreement": 0.995, "latency_ratio": 1.03,
              "decision": "not yet", "differences": [], "reason": "x" }
            """)
        #expect(plan.serve == "2" && plan.labels == ["stable": "2"])
        #expect(plan.candidate?.version == "3" && plan.candidate?.share == 0.1 && plan.candidate?.shadow == 0.05)
        #expect(plan.promote?.after == 2_000 && plan.promote?.agreement == 0.98 && plan.promote?.latency == 1.2)
        #expect(plan.versions == ["2", "3"])
    }

    @Test("every member of a plan is optional and has a default")
    func everythingMayBeLeftOut() throws {
        let plan = try Self.plan("{}")
        #expect(plan == RolloutPlan())
        let short = try Self.plan(#"{"candidate": {"version": "3"}, "promote": {}, "serve": null}"#)
        #expect(short.serve == nil && short.candidate?.share == 0 && short.candidate?.shadow == 0)
        #expect(short.promote?.after == 2_000 && short.promote?.agreement == 0.98 && short.promote?.latency == nil)
    }

    @Test(
        "a mistake in a plan is refused with the path of the member",
        arguments: [
            ("[]", "expected an object, found an array of 0"),
            (#"{"server": "2"}"#, #""server": is not a known member (did you mean "serve"?)"#),
            (#"{"serve": 2}"#, #""serve": expected text of 1 to 256 bytes, such as "2", found the number 2"#),
            (#"{"serve": ""}"#, #""serve": expected text of 1 to 256 bytes, such as "2", found """#),
            (
                #"{"labels": {"1st": "2"}}"#,
                #""labels.1st": expected a label that begins with a letter (numbers are versions)"#
            ),
            (
                #"{"labels": {"": "2"}}"#,
                #""labels": expected a label that begins with a letter (numbers are versions)"#
            ),
            (#"{"labels": ["a"]}"#, #""labels": expected an object, found an array of 1"#),
            (#"{"candidate": {}}"#, #""candidate.version": is missing: expected the candidate's version"#),
            (
                #"{"candidate": {"version": "3", "share": 1.1}}"#,
                #""candidate.share": expected a number from 0.0 to 1.0, found 1.1"#
            ),
            (#"{"candidate": {"version": "3", "shadow": "a"}}"#, #""candidate.shadow": expected a number, found "a""#),
            (
                #"{"candidate": {"version": "3", "sticky": "a b"}}"#,
                #""candidate.sticky": expected the name of a header field, found "a b""#
            ),
            (
                #"{"candidate": {"version": "3", "shares": 1}}"#,
                #""candidate.shares": is not a known member (did you mean "share"?)"#
            ),
            (
                #"{"serve": "3", "candidate": {"version": "3"}}"#,
                #""candidate.version": is also the version that serves"#
            ),
            (
                #"{"promote": {"after": 0}}"#,
                #""promote.after": expected an integer from 1 to 1000000000, found the number 0"#
            ),
            (#"{"promote": {"agreement": 0}}"#, #""promote.agreement": expected more than 0"#),
            (
                #"{"promote": {"agreement": 98}}"#,
                #""promote.agreement": expected a number from 0.0 to 1.0, found 98.0"#
            ),
            (#"{"promote": {"latency": 0}}"#, #""promote.latency": expected a number from 0.01 to 1000.0, found 0.0"#),
        ])
    func mistakesNameTheMember(_ text: String, _ message: String) throws {
        do {
            _ = try Self.plan(text)
            Issue.record("\(text) was read")
        } catch let problem as RolloutPlan.Problem {
            #expect(problem.message == message)
        }
    }

    @Test("a plan with more than 100 labels is refused")
    func labelsAreBounded() throws {
        let labels = (0...100).map { "\"a\($0)\": \"1\"" }.joined(separator: ",")
        #expect(throws: RolloutPlan.Problem(path: "labels", reason: "expected at most 100 labels, found 101")) {
            try Self.plan("{\"labels\": {\(labels)}}")
        }
    }

    @Test("the labels stable and candidate name versions unless the plan defines them")
    func wordsStandForVersions() throws {
        let plan = try Self.plan(
            #"{"serve": "2", "candidate": {"version": "3"}, "labels": {"canary": "3", "stable": "1"}}"#)
        func version(_ label: String, _ plan: RolloutPlan) -> String? { plan.version(labelled: label, serving: "9") }
        #expect(version("stable", plan) == "1", "what is written counts")
        #expect(version("canary", plan) == "3" && version("candidate", plan) == "3")
        #expect(version("7", plan) == nil)
        #expect(version("stable", try Self.plan(#"{"serve": "2"}"#)) == "2")
        #expect(version("stable", RolloutPlan()) == "9" && version("candidate", RolloutPlan()) == nil)
    }

    @Test("a written rollout record reads back unchanged, and damaged records are refused")
    func whatIsWrittenIsReadAgain() throws {
        var record = RolloutMachine.Record()
        record.plan = try Self.plan(
            #"{"serve": "2", "labels": {"a": "1"}, "candidate": {"version": "3", "share": 0.25, "sticky": "X-User"}, "promote": {"latency": 1.5}}"#
        )
        record.state = .rolledBack
        record.reason = "it \"errs\""
        record.judged = "3"
        record.rolledBack = ["ab", "cd"]
        let again = try RolloutMachine.Record(JSONTree.read(record.text(), .json).value)
        #expect(again == record)
        #expect(RolloutMachine(again).state == .rolledBack)
        #expect(throws: RolloutPlan.Problem.self) { try RolloutMachine.Record(Self.value(#"{"state": "lost"}"#)) }
        #expect(throws: RolloutPlan.Problem.self) { try RolloutMachine.Record(Self.value(#"{"rolled_back": [1]}"#)) }
        #expect(throws: RolloutPlan.Problem.self) { try RolloutMachine.Record(Self.value(#"{"reason": 1}"#)) }
    }
}
