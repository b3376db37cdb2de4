import FlowControl
import ImagePipeline
import Inference
import InferenceService
import SystemSupport
internal import Tasks
import Testing

/// The load at which a candidate may run, and those of its errors that count.
@Suite struct ShadowTests {
    /// A load of the daemon, and the decision of the gate.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expected: ShadowGate
        var candidate = ShadowGate.Load(), serving = ShadowGate.Load(), other = ShadowGate.Load()
        var memory = DecodeBudget().usage

        init(_ words: String, _ expected: ShadowGate, _ change: (inout Case) -> Void = { _ in }) {
            testDescription = words
            self.expected = expected
            memory.total = 100
            candidate.room = 2
            serving.room = 2
            other.room = 2
            change(&self)
        }
    }

    static let loads = [
        Case("nothing", .open),
        Case("one request of two each", .open) {
            $0.candidate.inFlight = 1
            $0.serving.inFlight = 1
        },
        Case("the candidate has no request to spare", .busy) { $0.candidate.inFlight = 2 },
        Case("the version that serves has no request to spare", .busy) { $0.serving.inFlight = 2 },
        Case("another model has none to spare, and nobody waits", .open) { $0.other.inFlight = 3 },
        Case("a request of the candidate waits", .busy) { $0.candidate.waiting = 1 },
        Case("a request of the version that serves waits", .busy) { $0.serving.waiting = 1 },
        Case("a request of another model waits", .busy) { $0.other.waiting = 1 },
        Case("the candidate is overloaded", .closed) { $0.candidate.isOverloaded = true },
        Case("the version that serves is overloaded", .closed) { $0.serving.isOverloaded = true },
        Case("another model is overloaded", .closed) { $0.other.isOverloaded = true },
        Case("half of the memory for decoding is in use", .open) { $0.memory.used = 50 },
        Case("more than half of the memory for decoding is in use", .closed) { $0.memory.used = 51 },
        Case("a picture waits for memory", .closed) { $0.memory.waiting = 1 },
    ]

    @Test("a candidate is asked only if no request of any model has to wait for it", arguments: loads)
    func theGateIsOpenWhereNobodyWaits(_ one: Case) {
        #expect(
            ShadowGate.decide(compared: [one.candidate, one.serving], others: [one.other], memory: one.memory)
                == one.expected)
    }

    private static func engine(_ kind: EngineError.Kind) -> InferenceError {
        .engine(EngineError(kind: kind, operation: "run the inference", detail: "out of order"))
    }

    @Test("an error of the candidate counts, and a temporary one of the machine does not")
    func errorsOfTheMachineDoNotCount() {
        var faults = ShadowFaults()
        func message(_ error: InferenceError) -> String? {
            faults.message(of: error, "cats", candidate: "2", limit: .seconds(10))
        }
        for error: InferenceError in [
            .refused(.draining), .refused(.deadlineExceeded), .cancelled(stage: .inference),
            .deadlineExceeded(stage: .queue), .deadlineExceeded(stage: .decode), .image(.outOfMemory),
            .image(.noDecoder("it has ended"), input: "x"), Self.engine(.noThreads),
        ] {
            let found = message(error)
            #expect(found == nil, "\(error)")
        }
        for error: InferenceError in [
            Self.engine(.failure), .image(.corrupt("at byte 7")), .unsupported(model: "cats", reason: "has no labels"),
        ] {
            let found = message(error)
            #expect(found == error.message, "\(error)")
        }
    }

    @Test("a candidate is too slow only when two items in succession exceeded their time limit")
    func theSecondLateItemCounts() {
        var faults = ShadowFaults()
        func late(_ name: String, _ candidate: String, _ stage: InferenceError.Stage = .inference) -> String? {
            faults.message(
                of: .deadlineExceeded(stage: stage), name, candidate: candidate, limit: .seconds(10))
        }
        let first = late("cats", "2")
        faults.answered("cats")
        let afterAnAnswer = late("cats", "2")
        let ofAnother = late("cats", "3"), ofAnotherModel = late("dogs", "3")
        #expect([first, afterAnAnswer, ofAnother, ofAnotherModel] == [nil, nil, nil, nil])
        let second = late("cats", "3", .postprocess)
        #expect(second == "twice in succession, no answer within 10 s")
    }

    @Test("items that are late at the same time count once")
    func itemsOfOneMomentCountOnce() {
        var faults = ShadowFaults()
        let before = MonotonicInstant.now
        let first = faults.wasLate("cats", candidate: "2", began: before)
        let besideIt = faults.wasLate("cats", candidate: "2", began: before)
        let afterIt = faults.wasLate("cats", candidate: "2", began: .now)
        #expect([first, besideIt, afterIt] == [false, false, true])
    }
}
