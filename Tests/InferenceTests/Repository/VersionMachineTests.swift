import Inference
internal import Repository
import SystemSupport
import TestSupport
import Testing

/// All transitions of a model's version; and long random sequences compared with the flags that the phases replaced.
@Suite struct VersionMachineTests {
    typealias Machine = VersionMachine<String, Int>

    private static let failedAt = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    /// Six seconds after the failure: longer than requests get its reason.
    private static let late = failedAt + .seconds(6), early = failedAt + .seconds(4)
    private static let settings = ModelConfiguration()

    // MARK: Every state

    /// The events that lead to every state, by the name that ``name(_:)`` returns.
    private static let states: [(name: String, events: [Event])] = [
        ("unloaded", []),
        ("unloaded, served", [.request, .success, .unload]),
        ("unloaded, held back", [.unloadAndHold]),
        ("unloaded, held back, served", [.request, .success, .unloadAndHold]),
        ("failed", [.request, .failure]),
        ("failed, served", [.request, .success, .unload, .request, .failure]),
        ("failed, held back", [.request, .unloadAndHold, .failure]),
        ("loading", [.request]),
        ("loading, served", [.request, .success, .unload, .request]),
        ("loading after failure", [.request, .failure, .requestAgain]),
        ("loading, dropped", [.request, .unload]),
        ("loading, dropped, held back", [.request, .unloadAndHold]),
        ("ready", [.request, .success]),
        ("ready, stale", [.request, .success, .requestAgain, .failure]),
        ("reloading", [.request, .success, .requestAgain]),
        ("reloading, stale", [.request, .success, .requestAgain, .failure, .requestAgain]),
    ]

    enum Event: String, CaseIterable {
        case request, requestLate, requestAgain, bringBack, turn, success, failure, unload, unloadAndHold, release,
            forget, wrong
    }

    /// The next state after each event in each state, and the answer after an arrow. `=`: no change.
    private static let table: [String: [Event: String]] = {
        var table: [String: [Event: String]] = [:]
        func row(_ name: String, _ next: [Event: String]) { table[name] = next }
        // Not loaded: requests begin a load; the ends of loads have no effect.
        row(
            "unloaded",
            [
                .request: "loading > begin", .requestLate: "loading > begin", .requestAgain: "loading > begin",
                .bringBack: "loading > begin", .turn: "=", .success: "= > lost", .failure: "=", .unload: "= > none",
                .unloadAndHold: "unloaded, held back > none", .release: "=", .forget: "=",
                .wrong: "= > none",
            ])
        row(
            "unloaded, served",
            [
                .request: "loading, served > begin", .requestLate: "loading, served > begin",
                .requestAgain: "loading, served > begin", .bringBack: "loading, served > begin", .turn: "=",
                .success: "= > lost", .failure: "=", .unload: "= > none",
                .unloadAndHold: "unloaded, held back, served > none", .release: "=", .forget: "=",
                .wrong: "= > none",
            ])
        // Held back: only a load on request loads it again.
        row(
            "unloaded, held back",
            [
                .request: "= > impossible", .requestLate: "= > impossible", .requestAgain: "= > impossible",
                .bringBack: "loading > begin", .turn: "=", .success: "= > lost", .failure: "=", .unload: "= > none",
                .unloadAndHold: "= > none", .release: "unloaded", .forget: "=",
                .wrong: "= > none",
            ])
        row(
            "unloaded, held back, served",
            [
                .request: "= > impossible", .requestLate: "= > impossible", .requestAgain: "= > impossible",
                .bringBack: "loading, served > begin", .turn: "=", .success: "= > lost", .failure: "=",
                .unload: "= > none",
                .unloadAndHold: "= > none", .release: "unloaded, served", .forget: "=",
                .wrong: "= > none",
            ])
        // Failed: requests get the reason for a while, then begin a load; reloads begin one immediately.
        row(
            "failed",
            [
                .request: "= > impossible", .requestLate: "loading after failure > begin",
                .requestAgain: "loading after failure > begin", .bringBack: "loading after failure > begin", .turn: "=",
                .success: "= > lost", .failure: "=", .unload: "unloaded > none",
                .unloadAndHold: "unloaded, held back > none", .release: "=", .forget: "unloaded",
                .wrong: "= > none",
            ])
        row(
            "failed, served",
            [
                .request: "= > impossible", .requestLate: "loading after failure, served > begin",
                .requestAgain: "loading after failure, served > begin",
                .bringBack: "loading after failure, served > begin", .turn: "=", .success: "= > lost", .failure: "=",
                .unload: "unloaded, served > none", .unloadAndHold: "unloaded, held back, served > none", .release: "=",
                .forget: "unloaded, served",
                .wrong: "= > none",
            ])
        row(
            "failed, held back",
            [
                .request: "= > impossible", .requestLate: "= > impossible", .requestAgain: "= > impossible",
                .bringBack: "loading after failure > begin", .turn: "=", .success: "= > lost", .failure: "=",
                .unload: "unloaded, held back > none", .unloadAndHold: "unloaded, held back > none", .release: "failed",
                .forget: "unloaded, held back",
                .wrong: "= > none",
            ])
        // Loading: requests join.
        row(
            "loading",
            [
                .request: "= > join", .requestLate: "= > join", .requestAgain: "= > join", .bringBack: "= > join",
                .turn: "=", .success: "ready > kept", .failure: "failed", .unload: "loading, dropped > none",
                .unloadAndHold: "loading, dropped, held back > none", .release: "=", .forget: "=",
                .wrong: "= > none",
            ])
        row(
            "loading, served",
            [
                .request: "= > join", .requestLate: "= > join", .requestAgain: "= > join", .bringBack: "= > join",
                .turn: "=", .success: "ready > kept", .failure: "failed, served",
                .unload: "loading, dropped, served > none",
                .unloadAndHold: "loading, dropped, held back, served > none", .release: "=", .forget: "=",
                .wrong: "= > none",
            ])
        row(
            "loading after failure",
            [
                .request: "= > join", .requestLate: "= > join", .requestAgain: "= > join", .bringBack: "= > join",
                .turn: "=", .success: "ready > kept", .failure: "failed", .unload: "loading, dropped > none",
                .unloadAndHold: "loading, dropped, held back > none", .release: "=", .forget: "loading",
                .wrong: "= > none",
            ])
        // Dropped: the loaded model is not kept, unless a request for it arrives meanwhile.
        row(
            "loading, dropped",
            [
                .request: "loading > join", .requestLate: "loading > join", .requestAgain: "loading > join",
                .bringBack: "loading > join", .turn: "=", .success: "unloaded > lost", .failure: "failed",
                .unload: "= > none", .unloadAndHold: "loading, dropped, held back > none", .release: "=", .forget: "=",
                .wrong: "= > none",
            ])
        row(
            "loading, dropped, held back",
            [
                .request: "= > impossible", .requestLate: "= > impossible", .requestAgain: "= > impossible",
                .bringBack: "loading > join", .turn: "=", .success: "unloaded, held back > lost",
                .failure: "failed, held back", .unload: "= > none", .unloadAndHold: "= > none",
                .release: "loading, dropped", .forget: "=",
                .wrong: "= > none",
            ])
        // Ready: only a reload begins a load, and the model answers meanwhile.
        row(
            "ready",
            [
                .request: "= > ready", .requestLate: "= > ready", .requestAgain: "reloading > begin, replacing",
                .bringBack: "reloading > begin, replacing", .turn: "=", .success: "= > lost", .failure: "=",
                .unload: "unloaded, served > released", .unloadAndHold: "unloaded, held back, served > released",
                .release: "=", .forget: "=",
                .wrong: "failed, served > released",
            ])
        row(
            "ready, stale",
            [
                .request: "= > ready", .requestLate: "= > ready", .requestAgain: "reloading, stale > begin, replacing",
                .bringBack: "reloading, stale > begin, replacing", .turn: "=", .success: "= > lost", .failure: "=",
                .unload: "unloaded, served > released", .unloadAndHold: "unloaded, held back, served > released",
                .release: "=", .forget: "ready",
                .wrong: "failed, served > released",
            ])
        row(
            "reloading",
            [
                .request: "= > join", .requestLate: "= > join", .requestAgain: "= > join", .bringBack: "= > join",
                .turn: "=", .success: "ready > kept, replaced", .failure: "ready, stale",
                .unload: "loading, dropped, served > released",
                .unloadAndHold: "loading, dropped, held back, served > released", .release: "=", .forget: "=",
                .wrong: "loading after failure, served > released",
            ])
        row(
            "reloading, stale",
            [
                .request: "= > join", .requestLate: "= > join", .requestAgain: "= > join", .bringBack: "= > join",
                .turn: "=", .success: "ready > kept, replaced", .failure: "ready, stale",
                .unload: "loading, dropped, served > released",
                .unloadAndHold: "loading, dropped, held back, served > released", .release: "=", .forget: "reloading",
                .wrong: "loading after failure, served > released",
            ])
        return table
    }()

    /// The name of a state, from its phase only.
    private static func name(_ machine: Machine) -> String {
        func words(_ first: String, _ rest: Machine.Rest, dropped: Bool = false) -> String {
            first + (dropped ? ", dropped" : "") + (rest.isManuallyUnloaded ? ", held back" : "")
                + (rest.wasReady ? ", served" : "")
        }
        switch machine.phase {
        case .unloaded(let rest): return words(rest.failure == nil ? "unloaded" : "failed", rest)
        case .loading(_, let rest, let isDropped):
            return words(rest.failure == nil ? "loading" : "loading after failure", rest, dropped: isDropped)
        case .ready(let loaded): return loaded.failure == nil ? "ready" : "ready, stale"
        case .reloading(let loaded, _): return loaded.failure == nil ? "reloading" : "reloading, stale"
        }
    }

    /// Applies an event; returns the answer in the form of the table.
    private static func happen(_ event: Event, to machine: inout Machine, number: Int = 0) -> String {
        func request(again: Bool = false, bringsBack: Bool = false, at now: MonotonicInstant) -> String {
            let answer = machine.request(
                again: again, bringsBack: bringsBack, with: settings, at: now, pending: number)
            switch answer {
            case .begin(_, nil): return " > begin"
            case .begin(_, .some): return " > begin, replacing"
            case .join: return " > join"
            case .ready: return " > ready"
            case .impossible: return " > impossible"
            }
        }
        switch event {
        case .request: return request(at: early)
        case .requestLate: return request(at: late)
        case .requestAgain: return request(again: true, at: early)
        case .bringBack: return request(again: true, bringsBack: true, at: early)
        case .turn: machine.loadBegins(at: early)
        case .success:
            let (isKept, replaced) = machine.loadSucceeds("model \(number)")
            return isKept ? replaced == nil ? " > kept" : " > kept, replaced" : " > lost"
        case .failure: machine.loadFails("broken", at: failedAt)
        case .unload: return machine.unload(unloadsManually: false) == nil ? " > none" : " > released"
        case .unloadAndHold: return machine.unload(unloadsManually: true) == nil ? " > none" : " > released"
        case .release: machine.release()
        case .forget: machine.forgetFailure()
        case .wrong: return machine.modelFails("broken", at: failedAt) == nil ? " > none" : " > released"
        }
        return ""
    }

    @Test("every event in every state leads to the state and the answer of the table", arguments: states.map(\.name))
    func everyEventInEveryState_leadsToTheStateOfTheTable(_ name: String) throws {
        let state = try #require(Self.states.first { $0.name == name })
        let row = try #require(Self.table[name])
        #expect(row.count == Event.allCases.count)
        for event in Event.allCases {
            var machine = Machine()
            for event in state.events { _ = Self.happen(event, to: &machine) }
            #expect(Self.name(machine) == name)
            let answer = Self.happen(event, to: &machine)
            let expected = (row[event] ?? "").replacing(/^=/, with: name)
            #expect(Self.name(machine) + answer == expected, "\(name), \(event)")
        }
    }

    @Test("a version whose folder cannot be read never begins a load, and gives the reason")
    func aFolderThatCannotBeRead_neverLoads_andGivesItsReason() {
        var machine = Machine(unreadable: "gone")
        #expect(machine.state == .failed(reason: "gone"))
        for event in [Event.request, .requestLate, .requestAgain, .bringBack] {
            #expect(Self.happen(event, to: &machine) == " > impossible")
        }
        machine.filesAre(unreadable: "no permission")
        #expect(machine.state == .failed(reason: "no permission"))
        machine.forgetFailure()
        #expect(machine.state == .failed(reason: "no permission"), "there is nothing to be tried again")
        #expect(machine.unload(unloadsManually: true) == nil)
        #expect(machine.state == .unloaded)
        machine.filesAre(unreadable: "gone")
        #expect(machine.state == .unloaded, "it was unloaded on request")
        #expect(Self.happen(.bringBack, to: &machine) == " > impossible")
        #expect(machine.state == .failed(reason: "gone"))
        #expect(!machine.isDueAgain(after: .zero, at: Self.late), "no load has failed")
    }

    @Test("a model is current only for its own configuration, while no reload runs or has failed")
    func currentModel_isThatOfTheSameConfiguration_andNotStale() {
        var machine = Machine()
        for event in [Event.request, .success] { _ = Self.happen(event, to: &machine) }
        #expect(machine.current(with: Self.settings) == "model 0")
        var other = ModelConfiguration()
        other.instances = 3
        #expect(machine.current(with: other) == nil)
        _ = Self.happen(.requestAgain, to: &machine)
        #expect(machine.current(with: Self.settings) == nil)
        _ = Self.happen(.failure, to: &machine)
        #expect(machine.current(with: Self.settings) == nil)
        #expect(machine.staleReason == "broken" && machine.model == "model 0")
    }

    // MARK: Against flags

    /// These decisions by independent flags, as they were before phases were introduced.
    private struct Flags {
        var ready: String?
        var wasReady = false, isLoading = false
        var failure: String?
        var isUnloaded = false, isManuallyUnloaded = false

        mutating func request(again: Bool, bringsBack: Bool, isLate: Bool) -> String {
            if isManuallyUnloaded, !bringsBack { return " > impossible" }
            isUnloaded = false
            isManuallyUnloaded = false
            if isLoading { return " > join" }
            if ready != nil, !again { return " > ready" }
            if !again, failure != nil, !isLate { return " > impossible" }
            isLoading = true
            return ready == nil ? " > begin" : " > begin, replacing"
        }

        mutating func happen(_ event: Event, number: Int) -> String {
            switch event {
            case .request: return request(again: false, bringsBack: false, isLate: false)
            case .requestLate: return request(again: false, bringsBack: false, isLate: true)
            case .requestAgain: return request(again: true, bringsBack: false, isLate: false)
            case .bringBack: return request(again: true, bringsBack: true, isLate: false)
            case .turn: return ""
            case .success:
                guard isLoading else { return " > lost" }
                isLoading = false
                failure = nil
                guard !isUnloaded else { return " > lost" }
                defer { (ready, wasReady) = ("model \(number)", true) }
                return ready == nil ? " > kept" : " > kept, replaced"
            case .failure:
                guard isLoading else { return "" }
                isLoading = false
                failure = "broken"
                return ""
            case .unload, .unloadAndHold:
                isUnloaded = true
                isManuallyUnloaded = isManuallyUnloaded || event == .unloadAndHold
                failure = nil
                defer { ready = nil }
                return ready == nil ? " > none" : " > released"
            case .release:
                isManuallyUnloaded = false
                return ""
            case .forget:
                failure = nil
                return ""
            case .wrong:
                guard ready != nil else { return " > none" }
                (ready, failure) = (nil, "broken")
                return " > released"
            }
        }
    }

    @Test("random event sequences lead to the same decisions as independent flags")
    func randomSequences_decideAsTheFlagsDid() {
        let seed = SplitMix.seed(for: "VersionMachineTests")
        var random = SplitMix(seed: seed)
        for round in 0..<200 {
            var machine = Machine(), flags = Flags()
            var history: [Event] = []
            for number in 0..<200 {
                let event = Event.allCases[Int.random(in: Event.allCases.indices, using: &random)]
                history.append(event)
                let answers = (Self.happen(event, to: &machine, number: number), flags.happen(event, number: number))
                let isSame =
                    answers.0 == answers.1 && machine.model == flags.ready && (machine.load != nil) == flags.isLoading
                    && machine.failure?.reason == flags.failure
                    && machine.isManuallyUnloaded == flags.isManuallyUnloaded
                    && machine.hasServed == flags.wasReady
                    && machine.isExpected == (flags.ready == nil && flags.failure == nil && !flags.isManuallyUnloaded)
                    && machine.isRetrying
                        == (flags.ready == nil && flags.failure != nil && flags.wasReady && !flags.isManuallyUnloaded)
                guard isSame else {
                    Issue.record(
                        "seed \(seed), round \(round): \(history.suffix(20)): \(machine), \(flags), \(answers)")
                    return
                }
            }
        }
    }
}
