import Foundation
import Teaching

// Measures teaching with embeddings.
// usage: teachbench accuracy FOLDER NAME DRAWS [auto] | cost METHOD CLASSES EACH DIMENSION | search EXAMPLES DIMENSION
//
// FOLDER has NAME.npy (float32, [pictures, dimension]) and NAME.txt (the class of each, one a line). A line of JSON for each measurement.
// "auto" omits the methods that are compared with it.

func fail(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("teachbench: \(reason)\n".utf8))
    exit(1)
}

/// Random numbers that depend only on the seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// The embeddings of pictures, class by class.
struct Pool {
    let name: String
    let dimension: Int
    let labels: [String]
    /// The embeddings of each class.
    let rows: [[[Float]]]

    init(_ name: String, in folder: URL) throws {
        let data = try Data(contentsOf: folder.appending(path: name + ".npy"))
        let words = try String(contentsOf: folder.appending(path: name + ".txt"), encoding: .utf8)
        let classes = words.split(separator: "\n").map(String.init)
        guard data.count > 10, !classes.isEmpty else { fail("\(name) is empty") }
        let header = 10 + Int(data[8]) + Int(data[9]) << 8
        let count = (data.count - header) / 4
        guard count > 0, count % classes.count == 0 else {
            fail("\(name): \(count) numbers for \(classes.count) pictures")
        }
        let values = data.withUnsafeBytes { raw in
            (0..<count).map { raw.loadUnaligned(fromByteOffset: header + 4 * $0, as: Float.self) }
        }
        let dimension = count / classes.count
        var rows: [String: [[Float]]] = [:]
        for (index, label) in classes.enumerated() {
            rows[label, default: []].append(Array(values[index * dimension..<(index + 1) * dimension]))
        }
        self.name = name
        self.dimension = dimension
        labels = rows.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        self.rows = labels.map { rows[$0] ?? [] }
    }

    /// Some classes with a number of examples each, and their other pictures.
    func draw(
        _ classes: [Int], each: Int, _ random: inout SplitMix
    ) -> (set: ExampleSet, rest: [(row: [Float], label: Int)]) {
        var taught: [[Float]] = [], rest: [(row: [Float], label: Int)] = []
        for (label, index) in classes.enumerated() {
            let shuffled = rows[index].shuffled(using: &random)
            taught += shuffled.prefix(each)
            rest += shuffled.dropFirst(each).map { ($0, label) }
        }
        let set = ExampleSet(
            dimension: dimension, labels: classes.map { labels[$0] }, rows: taught,
            classes: classes.indices.flatMap { [Int](repeating: $0, count: each) })
        guard let set else { fail("\(name): no set of \(classes.count) classes with \(each) examples") }
        return (set, rest)
    }
}

func line(_ members: [(String, String)]) {
    print("{" + members.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}")
}

func quoted(_ text: String) -> String { "\"" + text + "\"" }
func digits(_ value: Double) -> String { String(format: "%.4f", value) }

// MARK: Accuracy

/// The head that the program would serve after its test in the background, and the test.
func learned(_ set: ExampleSet, _ choice: TeachingMethod?) -> (head: TaughtClassifier, evaluation: Evaluation) {
    let comparison: Evaluator.Comparison? =
        if let choice { Evaluator.test(choice, set) } else { Evaluator.compare(set, current: .nearestMean) }
    guard let comparison, let evaluation = comparison.evaluations[comparison.preferred],
        var head = TaughtClassifier(comparison.preferred, set)
    else { fail("nothing was learned") }
    head.threshold = evaluation.threshold
    return (head, evaluation)
}

func measureAccuracy(_ pool: Pool, each: Int, method: TeachingMethod?, draws: Int) {
    var random = SplitMix(state: UInt64(32 * each))
    let all = Array(pool.labels.indices)
    guard pool.rows.allSatisfy({ $0.count > each }) else { return }
    var accuracies: [Double] = [], differences: [Double] = [], held = 0, chosen: [String: Int] = [:]
    // The control: as many pictures that were not taught, chosen at random.
    var controlHeld = 0
    for _ in 0..<draws {
        let (set, rest) = pool.draw(all, each: each, &random)
        let (head, evaluation) = learned(set, method)
        let right = rest.map { head.answer($0.row)?.first == $0.label }
        let actual = Double(right.count { $0 }) / Double(rest.count)
        accuracies.append(actual)
        chosen[head.method.rawValue, default: 0] += 1
        guard let told = evaluation.accuracy, let interval = evaluation.interval else { continue }
        differences.append(told - actual)
        held += actual >= interval.low && actual <= interval.high ? 1 : 0
        let others = right.shuffled(using: &random).prefix(evaluation.examples)
        if let control = WilsonInterval.of(others.count { $0 }, of: others.count) {
            controlHeld += actual >= control.low && actual <= control.high ? 1 : 0
        }
    }
    func mean(_ values: [Double]) -> String {
        values.isEmpty ? "null" : digits(values.reduce(0, +) / Double(values.count))
    }
    line([
        ("kind", quoted("accuracy")), ("set", quoted(pool.name)), ("classes", "\(all.count)"), ("each", "\(each)"),
        ("method", quoted(method?.rawValue ?? "auto")), ("accuracy", mean(accuracies)),
        ("difference", mean(differences)),
        ("held", differences.isEmpty ? "null" : digits(Double(held) / Double(differences.count))),
        ("control_held", differences.isEmpty ? "null" : digits(Double(controlHeld) / Double(differences.count))),
        (
            "chosen",
            "{" + chosen.sorted { $0.key < $1.key }.map { "\(quoted($0.key)): \($0.value)" }.joined(separator: ", ")
                + "}"
        ),
    ])
}

/// Half of the classes are taught, the others are strangers.
func measureStrangers(_ pool: Pool, each: Int, method: TeachingMethod?, draws: Int) {
    var random = SplitMix(state: UInt64(97 * each))
    guard pool.rows.allSatisfy({ $0.count > each }), pool.labels.count >= 4 else { return }
    var own = 0, rejected = 0, others = 0, found = 0, best = 0, right = 0
    for _ in 0..<draws {
        let order = Array(pool.labels.indices).shuffled(using: &random)
        let taught = order.prefix(order.count / 2).sorted()
        let (set, rest) = pool.draw(taught, each: each, &random)
        let (head, _) = learned(set, method)
        guard let threshold = head.threshold else { continue }
        var distances: [(Float, Bool)] = []
        for one in rest {
            guard let answer = head.answer(one.row) else { continue }
            own += 1
            rejected += answer.distance > threshold ? 1 : 0
            right += answer.first == one.label ? 1 : 0
            distances.append((answer.distance, true))
        }
        for index in order.dropFirst(order.count / 2) {
            for row in pool.rows[index].shuffled(using: &random).prefix(rest.count / taught.count) {
                guard let answer = head.answer(row) else { continue }
                others += 1
                found += answer.distance > threshold ? 1 : 0
                distances.append((answer.distance, false))
            }
        }
        // The share of strangers beyond the distance that 5 % of the pictures of known classes exceed: what no threshold can better.
        let known = distances.filter(\.1).map(\.0).sorted()
        let line = known[min(known.count - 1, Int((Double(known.count) * 0.95).rounded(.up)) - 1)]
        best += distances.count { !$0.1 && $0.0 > line }
    }
    guard own > 0, others > 0 else { return }
    line([
        ("kind", quoted("strangers")), ("set", quoted(pool.name)), ("each", "\(each)"),
        ("method", quoted(method?.rawValue ?? "auto")),
        ("accuracy", digits(Double(right) / Double(own))), ("rejected", digits(Double(rejected) / Double(own))),
        ("found", digits(Double(found) / Double(others))), ("possible", digits(Double(best) / Double(others))),
    ])
}

// MARK: Cost

func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4096
}

/// Measures the time of a change, and of an answer, without that of the embedding.
func measureCost(classes: Int, each: Int, dimension: Int, method: TeachingMethod) throws {
    var random = SplitMix(state: 7)
    let clock = ContinuousClock()
    func milliseconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) * 1000 + Double(duration.components.attoseconds) / 1e15
    }
    let folder = FileManager.default.temporaryDirectory.appending(path: "teachbench-\(getpid())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let before = residentBytes()
    var limits = TeachingLimits()
    limits.bytes = 8 << 30
    let store = try TaughtStore(folder: folder, limits: limits)
    let (model, _) = try store.create(
        "cost", Embedder(model: "drawn", version: "1", digest: "sha256:0"), dimension: dimension, .fixed(method))
    func example(_ number: Int, _ label: Int) -> TaughtModel.NewExample {
        let text = Array("\(label)-\(number)".utf8)
        return TaughtModel.NewExample(
            id: text.withUnsafeBytes { ExampleID(of: $0) }, label: "class \(label)",
            embedding: (0..<dimension).map { _ in Float.random(in: -1...1, using: &random) })
    }
    // All but the last class in large steps.
    for start in stride(from: 0, to: classes - 1, by: 50) {
        let part = (start..<min(classes - 1, start + 50)).flatMap { label in (0..<each).map { example($0, label) } }
        if !part.isEmpty { _ = try model.teach(part, time: 0) }
    }
    // The new class: from the embeddings until it answers.
    let fresh = (0..<min(5, each)).map { example($0, classes - 1) }
    var times: [Double] = []
    for one in fresh {
        times.append(
            try milliseconds(
                clock.measure {
                    _ = try model.teach([one], time: 0)
                    guard let head = model.view.head, head.answer(one.embedding) != nil else { fail("no answer") }
                }))
    }
    guard let head = model.view.head, let first = fresh.first else { fail("no head") }
    var answers: [Double] = []
    for number in 0..<50 {
        let asked = example(1_000 + number, 0).embedding
        answers.append(milliseconds(clock.measure { _ = head.answer(asked) }))
    }
    times.sort()
    answers.sort()
    let memory = residentBytes() - before
    // The work in the background, and the rewriting of the journal.
    let testing = try milliseconds(clock.measure { try model.evaluate(time: 0) })
    let forgetting = try milliseconds(clock.measure { try model.forget(first.id) })
    line([
        ("kind", quoted("cost")), ("method", quoted(method.rawValue)), ("classes", "\(classes)"), ("each", "\(each)"),
        ("dimension", "\(dimension)"),
        ("change_ms", digits(times[times.count / 2])), ("change_most_ms", digits(times.last ?? 0)),
        ("answer_ms", digits(answers[answers.count / 2])),
        ("forget_ms", digits(forgetting)), ("evaluation_s", digits(testing / 1000)),
        ("memory_mb", digits(Double(memory) / 1e6)),
    ])
}

/// Measures a search on one thread: the first one after a start, and the usual one.
func measureSearch(examples count: Int, dimension: Int) throws {
    var random = SplitMix(state: 7)
    let clock = ContinuousClock()
    func milliseconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) * 1000 + Double(duration.components.attoseconds) / 1e15
    }
    let folder = FileManager.default.temporaryDirectory.appending(path: "teachbench-\(getpid())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var limits = TeachingLimits()
    (limits.bytes, limits.examples) = (8 << 30, max(count, limits.examples))
    let store = try TaughtStore(folder: folder, limits: limits)
    let (model, _) = try store.create(
        "search", Embedder(model: "drawn", version: "1", digest: "sha256:0"), dimension: dimension,
        .fixed(.nearestMean))
    func embedding() -> [Float] { (0..<dimension).map { _ in Float.random(in: -1...1, using: &random) } }
    for start in stride(from: 0, to: count, by: 10_000) {
        _ = try model.teach(
            (start..<min(count, start + 10_000)).map { number in
                let text = Array("\(number)".utf8)
                return TaughtModel.NewExample(
                    id: text.withUnsafeBytes { ExampleID(of: $0) }, label: "class \(number % 10)",
                    embedding: embedding())
            }, time: 0)
    }
    let before = residentBytes()
    for top in [10, 1_000] {
        for label in [nil, "class 3"] {
            var times: [Double] = []
            for _ in 0..<21 {
                let asked = embedding()
                times.append(
                    milliseconds(
                        clock.measure {
                            let search = ExampleSearch(asked, in: model.view.state, top: top, label: label)
                            guard search?.nearest()?.isEmpty == false else { fail("no answer") }
                        }))
            }
            let usual = times.dropFirst().sorted()
            line([
                ("kind", quoted("search")), ("examples", "\(count)"), ("dimension", "\(dimension)"),
                ("top", "\(top)"), ("label", "\(label != nil)"), ("first_ms", digits(times[0])),
                ("search_ms", digits(usual[usual.count / 2])), ("most_ms", digits(usual.last ?? 0)),
                ("memory_mb", digits(Double(residentBytes() - before) / 1e6)),
            ])
        }
    }
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "accuracy" where arguments.count == 5 || arguments.count == 6 && arguments[5] == "auto":
    guard let draws = Int(arguments[4]), draws > 0 else { fail("DRAWS: expected a number") }
    let pool = try Pool(arguments[3], in: URL(filePath: arguments[2]))
    for each in [1, 5, 20] {
        let methods = arguments.count == 6 ? [] : TeachingMethod.classifiers
        for method in [nil] + methods.map(Optional.some) where method != .logistic || each > 1 {
            measureAccuracy(pool, each: each, method: method, draws: method == .logistic ? min(20, draws) : draws)
        }
    }
    for each in [5, 20] { measureStrangers(pool, each: each, method: nil, draws: max(1, draws / 10)) }
case "search" where arguments.count == 4:
    guard let examples = Int(arguments[2]), let dimension = Int(arguments[3]), examples > 0, dimension > 0 else {
        fail("EXAMPLES, DIMENSION: expected numbers")
    }
    try measureSearch(examples: examples, dimension: dimension)
case "cost" where arguments.count == 6:
    guard let method = TeachingMethod(rawValue: arguments[2]), let classes = Int(arguments[3]),
        let each = Int(arguments[4]),
        let dimension = Int(arguments[5]), classes > 1, each > 0, dimension > 0
    else { fail("cost METHOD CLASSES EACH DIMENSION") }
    try measureCost(classes: classes, each: each, dimension: dimension, method: method)
default:
    fail(
        "usage: teachbench accuracy FOLDER NAME DRAWS [auto] | cost METHOD CLASSES EACH DIMENSION | search EXAMPLES DIMENSION"
    )
}
