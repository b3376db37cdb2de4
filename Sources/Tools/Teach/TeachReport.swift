internal import Inference
internal import JSON
internal import Settings
internal import Teaching

/// The report of `ocelli teach`: a taught model's answers to pictures of known classes.
struct TeachReport: Sendable {
    /// A picture, its folder, and the answer.
    struct EvaluatedPicture: Sendable {
        let file: String
        let label: String
        let answer: String
        /// False for an answer above the threshold; nil without a threshold.
        var isKnown: Bool?
    }

    /// A picture that could not be used.
    struct Failure: Sendable {
        let file: String
        let reason: String
        let code: String
    }

    /// The source of the answers.
    enum Origin: Sendable {
        /// A new bundle; the answers are to left-out pictures.
        case taught(Taught)
        /// An existing model; the answers are to pictures of a folder.
        case serving(version: String, folder: String)
    }

    /// The bundle that was made.
    struct Taught: Sendable {
        let embedder: Embedder
        let dimension: Int
        let evaluation: Evaluation
        /// The folder that was written.
        let bundle: String
    }

    let name: String
    let origin: Origin
    /// The model's classes.
    let labels: [String]
    let evaluated: [EvaluatedPicture]
    let failures: [Failure]
    /// The distance above which an answer counts as unknown.
    let threshold: Float?

    /// The number of right answers, and of all answers, of a class.
    struct Tally: Sendable {
        var correct = 0, all = 0
        /// The number of times that each other class was answered.
        var others: [String: Int] = [:]
    }

    /// The counts of classes with answers, by label.
    let tallies: [String: Tally]
    /// The number of pictures of the model's classes that were answered as unknown.
    let rejected: Int
    /// The number of pictures of other classes, and how many of them were answered as unknown.
    let unknownPictures: (found: Int, all: Int)

    init(
        name: String, origin: Origin, labels: [String], evaluated: [EvaluatedPicture], failures: [Failure],
        threshold: Float?
    ) {
        (self.name, self.origin, self.labels, self.threshold) = (name, origin, labels, threshold)
        (self.evaluated, self.failures) = (evaluated, failures)
        let own = Set(labels)
        var tallies: [String: Tally] = [:], rejected = 0, unknownPictures = (found: 0, all: 0)
        for one in evaluated {
            guard own.contains(one.label) else {
                unknownPictures.all += 1
                unknownPictures.found += one.isKnown == false ? 1 : 0
                continue
            }
            rejected += one.isKnown == false ? 1 : 0
            tallies[one.label, default: Tally()].all += 1
            if one.answer == one.label {
                tallies[one.label, default: Tally()].correct += 1
            } else {
                tallies[one.label, default: Tally()].others[one.answer, default: 0] += 1
            }
        }
        (self.tallies, self.rejected, self.unknownPictures) = (tallies, rejected, unknownPictures)
    }

    var total: Int { tallies.values.reduce(0) { $0 + $1.all } }
    var correct: Int { tallies.values.reduce(0) { $0 + $1.correct } }
    /// The wrong answers among the model's classes.
    var wrong: [EvaluatedPicture] {
        let own = Set(labels)
        return evaluated.filter { own.contains($0.label) && $0.label != $0.answer }
    }

    /// The confused pairs, most frequent first.
    var confusions: [(label: String, answer: String, count: Int)] {
        let pairs = labels.flatMap { label in
            (tallies[label]?.others ?? [:]).sorted { $0.key < $1.key }.map { (label, $0.key, $0.value) }
        }
        // Keep the order of equal counts.
        return pairs.enumerated().sorted { (-$0.element.2, $0.offset) < (-$1.element.2, $1.offset) }.map(\.element)
    }
}

// MARK: Text

extension TeachReport {
    /// The report as lines of text.
    var text: String {
        var lines = [lead, accuracy]
        let width = min(40, labels.map { PrintableText.text($0).count }.max() ?? 0)
        for label in labels {
            guard let tally = tallies[label] else { continue }
            let name = PrintableText.text(label)
            let others = tally.others.sorted { (-$0.value, $0.key) < (-$1.value, $1.key) }
            let taken = others.map { "\(PrintableText.text($0.key)) \($0.value)" }.joined(separator: ", ")
            lines.append(
                "  \(name)\(String(repeating: " ", count: max(0, width - name.count)))  "
                    + "\(tally.correct) of \(tally.all)\(taken.isEmpty ? "" : "; taken for \(taken)")")
        }
        lines += remarks
        let shown = wrong.prefix(Self.maximumShown)
        if !shown.isEmpty { lines.append("wrong answers:") }
        lines += shown.map { PrintableText.text("  \($0.file): \($0.answer)") }
        if wrong.count > shown.count { lines.append("  and \(wrong.count - shown.count) more (--json lists all)") }
        return lines.joined(separator: "\n")
    }

    /// The maximum number of wrong answers in the text.
    private static let maximumShown = 20

    /// The sentence that describes the model.
    var lead: String {
        switch origin {
        case .taught(let made):
            let pictures = made.evaluation.classes.reduce(0) { $0 + $1.examples }
            return "\(name): \(Self.count(pictures, "picture")) of \(Self.count(labels.count, "class", "classes")), "
                + "\(made.evaluation.method.rawValue) on embeddings of \(made.embedder.model) (\(made.dimension) numbers)"
        case .serving(let version, let folder):
            return "\(name), version \(version): \(Self.count(evaluated.count, "picture")) of \(folder)"
        }
    }

    /// The sentence about the accuracy, always with its interval.
    var accuracy: String {
        guard let interval = WilsonInterval.of(correct, of: total) else {
            if case .taught = origin { return "not tested: no class has two pictures" }
            return "no picture belongs to a class of the model"
        }
        func percent(_ share: Double) -> String { Units.decimal(100 * share, places: 1) }
        return "\(correct) of \(total) right\(how): \(percent(Double(correct) / Double(total))) %, "
            + "and \(percent(interval.low)) to \(percent(interval.high)) % for pictures like these (95 % confidence)"
    }

    private var how: String {
        guard case .taught(let made) = origin else { return "" }
        return made.evaluation.kind == .leaveOneOut
            ? ", each answered without itself"
            : ", each answered without a \(Self.ordinal(made.evaluation.folds)) of them"
    }

    private static func ordinal(_ parts: Int) -> String {
        parts == 2 ? "half" : parts == 3 ? "third" : "\(parts)th"
    }

    /// The figures of unknown pictures, and the advice.
    var remarks: [String] {
        var lines: [String] = []
        if let threshold {
            lines.append(
                "beyond a distance of \(Units.decimal(Double(threshold), places: 3)) a picture counts as unknown")
        }
        if case .serving = origin, threshold != nil {
            lines.append("\(rejected) of \(total) pictures of its classes are answered as unknown")
        }
        if unknownPictures.all > 0 {
            lines.append(
                "\(Self.count(unknownPictures.all, "picture")) of other classes: "
                    + (threshold == nil
                        ? "unknown classes are not recognized" : "\(unknownPictures.found) answered as unknown"))
        }
        if case .taught(let made) = origin, let advice = made.evaluation.advice { lines.append(advice) }
        if !failures.isEmpty { lines.append("\(Self.count(failures.count, "picture")) left out: see above") }
        return lines
    }

    static func count(_ number: Int, _ one: String, _ several: String? = nil) -> String {
        "\(number) \(number == 1 ? one : several ?? one + "s")"
    }
}

// MARK: JSON

extension TeachReport {
    /// The report as one JSON object.
    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", name)
            switch origin {
            case .taught(let made): write(made, to: &writer)
            case .serving(let version, let folder):
                writer.member("version", version)
                writer.member("pictures", folder)
            }
            writer.key("classes")
            writer.array { writer in for label in labels { write(label, to: &writer) } }
            writer.key("evaluation")
            writer.object { write(evaluation: &$0) }
            writer.key("wrong")
            writer.array { writer in
                for one in wrong {
                    writer.object { writer in
                        writer.member("file", one.file)
                        writer.member("label", one.label)
                        writer.member("as", one.answer)
                    }
                }
            }
            Self.write(failures, to: &writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Writes the pictures that could not be used, as the member `errors` of the open object.
    static func write(_ failures: [Failure], to writer: inout JSONWriter) {
        writer.key("errors")
        writer.array { writer in
            for one in failures {
                writer.object { writer in
                    writer.member("file", one.file)
                    writer.member("error", one.reason)
                    writer.member("code", one.code)
                }
            }
        }
    }

    /// Writes the member `embedder` of the open object.
    static func write(_ embedder: Embedder, to writer: inout JSONWriter) {
        writer.key("embedder")
        writer.object { writer in
            writer.member("model", embedder.model)
            writer.member("version", embedder.version)
            writer.member("digest", embedder.digest)
        }
    }

    private func write(_ made: Taught, to writer: inout JSONWriter) {
        writer.member("bundle", made.bundle)
        Self.write(made.embedder, to: &writer)
        writer.member("dimension", made.dimension)
    }

    private func write(_ label: String, to writer: inout JSONWriter) {
        let tally = tallies[label] ?? Tally()
        writer.object { writer in
            writer.member("label", label)
            if case .taught(let made) = origin, let known = made.evaluation.classes.first(where: { $0.label == label })
            {
                writer.member("examples", known.examples)
            }
            writer.member("tested", tally.all)
            writer.member("correct", tally.correct)
            writer.key("accuracy")
            if tally.all > 0 { writer.number(Double(tally.correct) / Double(tally.all)) } else { writer.null() }
        }
    }

    private func write(evaluation writer: inout JSONWriter) {
        if case .taught(let made) = origin {
            writer.member("by", made.evaluation.kind.rawValue)
            writer.member("method", made.evaluation.method.rawValue)
        }
        writer.member("examples", total)
        writer.member("correct", correct)
        writer.key("accuracy")
        if total > 0 { writer.number(Double(correct) / Double(total)) } else { writer.null() }
        writer.key("interval")
        if let interval = WilsonInterval.of(correct, of: total) {
            writer.array { writer in
                writer.number(interval.low)
                writer.number(interval.high)
            }
        } else {
            writer.null()
        }
        writer.key("confusions")
        writer.array { writer in
            for one in confusions {
                writer.object { writer in
                    writer.member("label", one.label)
                    writer.member("as", one.answer)
                    writer.member("count", one.count)
                }
            }
        }
        writer.key("threshold")
        if let threshold { writer.number(threshold) } else { writer.null() }
        if case .serving = origin {
            writer.member("unknown", rejected)
            writer.key("strangers")
            writer.object { writer in
                writer.member("examples", unknownPictures.all)
                writer.member("unknown", unknownPictures.found)
            }
        }
        if case .taught(let made) = origin, let advice = made.evaluation.advice { writer.member("advice", advice) }
    }
}
