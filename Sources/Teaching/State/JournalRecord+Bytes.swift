/// The format of records in the file: a byte for the kind, then the fields in order. Records without names, and of
/// models that tell classes apart, have the kinds and bytes that they had before there was anything else, so that older
/// daemons read them.
extension JournalRecord {
    var bytes: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .created(let embedder, let dimension, let choice, let grid):
            writer.byte(choice.falseAlarms == nil ? 1 : grid == nil ? 9 : 10)
            for text in [embedder.model, embedder.version, embedder.digest, choice.name] { writer.text(text) }
            writer.number(dimension)
            guard let falseAlarms = choice.falseAlarms else { break }
            writer.doubles([falseAlarms])
            if let grid { for number in [grid.rows, grid.columns, grid.width] { writer.number(number) } }
        case .examples(let examples):
            let hasPatches = examples.contains { $0.patches != nil }
            let hasNames = hasPatches || examples.contains { $0.name != nil }
            writer.byte(hasPatches ? 11 : hasNames ? 7 : 2)
            writer.integer(UInt32(clamping: examples.count))
            for example in examples {
                writer.example(example)
                // Names have at least one byte, so an empty one stands for nil.
                if hasNames { writer.text(example.name ?? "") }
                if hasPatches { writer.patches(example.patches) }
            }
        case .versions(let versions, let serving, let next):
            writer.byte(3)
            writer.number(serving)
            writer.number(next)
            writer.integer(UInt32(clamping: versions.count))
            for version in versions { writer.version(version) }
        case .change(let change):
            writer.byte(4)
            writer.text(change.method.rawValue)
            writer.number(change.time)
            writer.integer(UInt32(clamping: change.items.count))
            for item in change.items {
                writer.raw(item.id.bytes)
                writer.text(item.label)
                writer.byte(
                    (item.embedding == nil ? 0 : 1) | (item.name == nil ? 0 : 2) | (item.patches == nil ? 0 : 4))
                if let embedding = item.embedding { writer.floats(embedding) }
                if let name = item.name { writer.text(name) }
                if let patches = item.patches { writer.patches(patches) }
            }
            writer.evaluation(change.evaluation)
        case .evaluated(let number, let evaluation):
            writer.byte(5)
            writer.number(number)
            writer.evaluation(evaluation)
        case .served(let number):
            writer.byte(6)
            writer.number(number)
        case .named(let names):
            writer.byte(8)
            writer.integer(UInt32(clamping: names.count))
            for one in names {
                writer.raw(one.id.bytes)
                writer.text(one.name)
            }
        }
        return writer.bytes
    }

    /// Reads a record; fails if the bytes are not a record.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let record = Self.read(&reader), reader.isAtEnd else { return nil }
        self = record
    }

    private static func read(_ reader: inout ByteReader) -> JournalRecord? {
        switch reader.byte() {
        case 1: return reader.creation(hasFalseAlarms: false)
        case 9: return reader.creation(hasFalseAlarms: true)
        case 10: return reader.creation(hasFalseAlarms: true, hasGrid: true)
        case 2: return reader.list { $0.example() }.map { .examples($0) }
        case 3:
            guard let serving = reader.number(), let next = reader.number(),
                let versions = reader.list({ $0.version() })
            else { return nil }
            return .versions(versions, serving: serving, next: next)
        case 4:
            guard let method = reader.method(), let time = reader.number(), let items = reader.list({ $0.item() }),
                let evaluation = reader.evaluation()
            else { return nil }
            return .change(TaughtChange(items: items, method: method, time: time, evaluation: evaluation))
        case 5:
            guard let number = reader.number(), let evaluation = reader.evaluation() ?? nil else { return nil }
            return .evaluated(number, evaluation)
        case 6: return reader.number().map { .served($0) }
        case 7: return reader.list { $0.namedExample() }.map { .examples($0) }
        case 11:
            return reader.list { reader in
                guard var example = reader.namedExample(), let patches = reader.patches() else { return nil }
                example.patches = patches
                return example
            }.map { .examples($0) }
        case 8:
            return reader.list { reader in
                guard let id = reader.id(), let name = reader.name() else { return nil }
                return ExampleName(id: id, name: name)
            }.map { .named($0) }
        default: return nil
        }
    }
}

extension ByteWriter {
    fileprivate mutating func example(_ example: Example) {
        raw(example.id.bytes)
        text(example.label)
        number(example.since)
        number(example.added)
        integer(UInt32(clamping: example.earlier.count))
        for earlier in example.earlier {
            number(earlier.until)
            text(earlier.label)
        }
        floats(example.embedding)
    }

    /// Writes the count, the width and the numbers of patches; two zeros for none.
    fileprivate mutating func patches(_ patches: PatchVectors?) {
        integer(UInt32(clamping: patches?.count ?? 0))
        integer(UInt32(clamping: patches?.width ?? 0))
        raw(patches?.bytes ?? [])
    }

    fileprivate mutating func version(_ version: TaughtVersion) {
        number(version.number)
        text(version.method.rawValue)
        number(version.examples)
        evaluation(version.evaluation)
    }

    fileprivate mutating func evaluation(_ evaluation: Evaluation?) {
        byte(evaluation == nil ? 0 : evaluation?.leftOut == nil ? 1 : evaluation?.kept == nil ? 2 : 3)
        guard let evaluation else { return }
        text(evaluation.method.rawValue)
        text(evaluation.kind.rawValue)
        number(evaluation.folds)
        floats(evaluation.threshold.map { [$0] } ?? [])
        integer(UInt32(clamping: evaluation.classes.count))
        for result in evaluation.classes {
            text(result.label)
            for count in [result.examples, result.tested, result.correct] { number(count) }
        }
        integer(UInt32(clamping: evaluation.confusions.count))
        for confusion in evaluation.confusions {
            text(confusion.label)
            text(confusion.answer)
            number(confusion.count)
        }
        guard let leftOut = evaluation.leftOut else { return }
        doubles([leftOut.falseAlarms] + leftOut.scores)
        guard let kept = evaluation.kept else { return }
        integer(UInt32(clamping: kept.bits.count))
        raw(kept.bits)
    }
}

extension ByteReader {
    fileprivate mutating func method() -> TeachingMethod? { text().flatMap { TeachingMethod(rawValue: $0) } }

    fileprivate mutating func creation(hasFalseAlarms: Bool, hasGrid: Bool = false) -> JournalRecord? {
        guard let model = text(), let version = text(), let digest = text(), let name = text(),
            let dimension = number(), dimension > 0
        else { return nil }
        var shares: [Double] = []
        if hasFalseAlarms {
            guard let read = doubles(), read.count == 1, MethodChoice.allowedFalseAlarms.contains(read[0]) else {
                return nil
            }
            shares = read
        }
        let choice = MethodChoice(name, falseAlarms: shares.first ?? MethodChoice.usualFalseAlarms)
        guard let choice, (choice.falseAlarms != nil) == hasFalseAlarms else { return nil }
        var grid: PatchGrid?
        if hasGrid {
            guard let rows = number(), let columns = number(), let width = number(),
                let read = PatchGrid(rows: rows, columns: columns, width: width)
            else { return nil }
            grid = read
        }
        return .created(Embedder(model: model, version: version, digest: digest), dimension: dimension, choice, grid)
    }

    fileprivate mutating func namedExample() -> Example? {
        guard var example = example(), let name = text() else { return nil }
        example.name = name.isEmpty ? nil : name
        return example
    }

    fileprivate mutating func patches() -> PatchVectors? {
        guard let count = integer(UInt32.self), let width = integer(UInt32.self) else { return nil }
        let (numbers, isLarge) = Int(count).multipliedReportingOverflow(by: Int(width))
        guard !isLarge, let bytes = raw(numbers, of: 2) else { return nil }
        return bytes.withUnsafeBytes { PatchVectors(bytes: $0, count: Int(count), width: Int(width)) }
    }

    fileprivate mutating func id() -> ExampleID? { raw(32).flatMap { ExampleID(digest: $0) } }

    fileprivate mutating func example() -> Example? {
        guard let id = id(), let label = text(), let since = number(), let added = number(),
            let earlier = list({ reader in
                reader.number().flatMap { until in reader.text().map { Example.EarlierClass(until: until, label: $0) } }
            }),
            let embedding = floats()
        else { return nil }
        return Example(
            id: id, label: label, embedding: embedding, since: since, added: added, earlier: earlier)
    }

    fileprivate mutating func version() -> TaughtVersion? {
        guard let number = number(), let method = method(), let examples = self.number(), let evaluation = evaluation()
        else { return nil }
        return TaughtVersion(number: number, method: method, examples: examples, evaluation: evaluation)
    }

    fileprivate mutating func item() -> TaughtChange.Item? {
        guard let id = id(), let label = text(), let parts = byte(), parts < 8 else { return nil }
        var embedding: [Float]?, name: String?, patches: PatchVectors?
        if parts & 1 != 0 {
            embedding = floats()
            guard embedding != nil else { return nil }
        }
        if parts & 2 != 0 {
            name = self.name()
            guard name != nil else { return nil }
        }
        if parts & 4 != 0 {
            patches = self.patches()
            guard patches != nil else { return nil }
        }
        return TaughtChange.Item(id: id, label: label, embedding: embedding, patches: patches, name: name)
    }

    /// Reads a name; nil for an empty one.
    fileprivate mutating func name() -> String? { text().flatMap { $0.isEmpty ? nil : $0 } }

    /// Reads an optional evaluation. The outer nil means an error, the inner nil that there is no evaluation.
    fileprivate mutating func evaluation() -> Evaluation?? {
        guard let form = byte(), form <= 3 else { return nil }
        guard form > 0 else { return .some(nil) }
        guard let method = method(), let kind = text().flatMap({ Folds.Kind(rawValue: $0) }), let folds = number(),
            let threshold = floats(),
            let classes = list({ reader -> Evaluation.ClassResult? in
                guard let label = reader.text(), let examples = reader.number(), let tested = reader.number(),
                    let correct = reader.number()
                else { return nil }
                return Evaluation.ClassResult(label: label, examples: examples, tested: tested, correct: correct)
            }),
            let confusions = list({ reader -> Evaluation.Confusion? in
                guard let label = reader.text(), let answer = reader.text(), let count = reader.number() else {
                    return nil
                }
                return Evaluation.Confusion(label: label, answer: answer, count: count)
            })
        else { return nil }
        var leftOut: LeftOutScores?
        if form >= 2 {
            guard let numbers = doubles(), let falseAlarms = numbers.first,
                MethodChoice.allowedFalseAlarms.contains(falseAlarms)
            else { return nil }
            leftOut = LeftOutScores(Array(numbers.dropFirst()), falseAlarms: falseAlarms)
        }
        var kept: PatchSelection?
        if form == 3 {
            guard let count = integer(UInt32.self), let bits = raw(Int(count)) else { return nil }
            kept = PatchSelection(bits: bits)
        }
        return Evaluation(
            method: method, kind: kind, folds: folds, classes: classes, confusions: confusions,
            threshold: threshold.first, leftOut: leftOut, kept: kept)
    }
}
