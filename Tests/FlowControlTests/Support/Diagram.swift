import FlowControl

/// Runs the limiter by a diagram: one line for each kind of event or outcome, one column for each second.
///
///     arrive    ab-c--
///     finish    --a-b-
///     granted   a-b-c-
///
/// Letters are requests, `-` is no event, `[ab]` is several in one second. Event lines: `arrive`, `hurry` (with a
/// deadline 3 s later), `finish`, `cancel`, `limit` (a digit: the new limit), `queue` (a digit: the new capacity),
/// `drain` (`*`; `!` refuses the waiters, too). In each second, the timer fires first, then slots are released, then
/// the other events follow in the order of this list. All other lines are outcomes, by the names of `Bench` (`granted`,
/// `queue_full`, `wait_timed_out`, `deadline_exceeded`, `deadline_unreachable`, `displaced`, `cancelled`, `draining`)
/// and `drained` (`*`).
struct Diagram {
    private static let events = ["finish", "cancel", "limit", "queue", "drain", "arrive", "hurry"]

    private var tracks: [(name: String, columns: [String])] = []

    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2 else { continue }
            tracks.append((String(words[0]), Self.columns(of: words[1])))
        }
    }

    private static func columns(of marks: Substring) -> [String] {
        var columns: [String] = []
        var group: String?
        for mark in marks {
            switch (mark, group) {
            case ("[", _): group = ""
            case ("]", let whole): columns.append(whole ?? ""); group = nil
            case (_, let begun?): group = begun + String(mark)
            case ("-", nil): columns.append("")
            case (_, nil): columns.append(String(mark))
            }
        }
        return columns
    }

    /// The diagram with the actual outcomes: the lines in their order, then lines for unexpected outcomes.
    func played(on start: Bench) -> String {
        var bench = start
        var outcomes: [String: [Int: String]] = [:]
        let length = tracks.map(\.columns.count).max() ?? 0
        for second in 0..<length {
            if second > 0 { bench.pass(.seconds(1)) }
            var found: [(String, String)] = []
            for event in Self.events {
                guard let track = tracks.first(where: { $0.name == event }), second < track.columns.count else {
                    continue
                }
                for mark in track.columns[second] { Self.play(event, mark, &bench, &found) }
            }
            for (name, outcome) in bench.ended {
                switch outcome {
                case .success: found.append(("granted", String(name)))
                case .failure(let error): found.append((error.label, String(name)))
                }
            }
            bench.ended = []
            if bench.isDrained, outcomes["drained"] == nil { found.append(("drained", "*")) }
            for (outcome, mark) in found { outcomes[outcome, default: [:]][second, default: ""] += mark }
        }
        return render(outcomes, length)
    }

    private static func play(
        _ event: String, _ mark: Character, _ bench: inout Bench, _ found: inout [(String, String)]
    ) {
        switch event {
        case "arrive", "hurry":
            switch bench.arrive(mark, deadline: event == "hurry" ? .seconds(3) : nil) {
            case .admitted: found.append(("granted", String(mark)))
            case .refused(let error): found.append((error.label, String(mark)))
            case .waiting: break
            }
        case "finish": bench.finish(mark)
        case "cancel": bench.cancel(mark)
        case "limit": bench.resize(limit: mark.wholeNumberValue)
        case "queue": bench.resize(queue: mark.wholeNumberValue)
        default: bench.drain(refusingWaiters: mark == "!")
        }
    }

    private func render(_ outcomes: [String: [Int: String]], _ length: Int) -> String {
        func line(_ name: String, _ columns: [String]) -> String {
            let marks = columns.map { $0.isEmpty ? "-" : $0.count == 1 ? $0 : "[\($0)]" }
            return name + String(repeating: " ", count: max(1, 22 - name.count)) + marks.joined()
        }
        func outcome(_ name: String) -> String { line(name, (0..<length).map { outcomes[name]?[$0] ?? "" }) }
        let known = tracks.map { Self.events.contains($0.name) ? line($0.name, $0.columns) : outcome($0.name) }
        let others = outcomes.keys.sorted().filter { name in !tracks.contains { $0.name == name } }
        return (known + others.map(outcome)).joined(separator: "\n")
    }

    /// The diagram as written, in the format of `played`.
    var text: String {
        var outcomes: [String: [Int: String]] = [:]
        let length = tracks.map(\.columns.count).max() ?? 0
        for track in tracks {
            for (second, marks) in track.columns.enumerated() where !marks.isEmpty {
                outcomes[track.name, default: [:]][second] = marks
            }
        }
        return render(outcomes, length)
    }
}
