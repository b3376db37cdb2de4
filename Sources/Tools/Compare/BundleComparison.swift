internal import FileFormats
internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Compares the answers of a bundle with expected ones: `ocelli check --against`.
package enum BundleComparison {
    /// The bundle, file and option of one run.
    package struct Request: Sendable {
        package var bundle = ""
        package var file = ""
        /// The minimum share of answers that must agree, 0 to 1.
        package var atLeast: Double?

        package init() {}
    }

    private struct Miss {
        let line: String
        /// The amount by which the model preferred its own answer.
        let margin: Float
    }

    private static let maximumMisses = 10, largestTensor = 256 << 20

    /// The running counts.
    private struct Tally {
        var correct = 0, failed = 0, tensors = 0, wrongTensors = 0
        var misses: [Miss] = []
        /// The largest difference of a probability, with the line and the class.
        var drift: (line: Int, label: String, difference: Double) = (0, "", -1)

        mutating func add(_ miss: Miss) {
            misses.append(miss)
            misses.sort { $0.margin > $1.margin }
            if misses.count > maximumMisses { misses.removeLast() }
        }
    }

    /// Runs the file's pictures through the bundle and writes which answers agree and which do not.
    /// - Returns: whether enough of them agree; without a threshold, whether everything could be compared.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Bool {
        let rows = try rows(of: request.file)
        progress("loading the model...")
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let model = try await ModelAtPath.loadUncalibrated(
            ModelAtPath.resolved(request.bundle, note: complain), plan.modelConfiguration)
        guard model.description.imageInput != nil else {
            throw CommandError("\(request.bundle) does not take pictures\(model.reasonForTensors)")
        }
        // Tensors can be compared even without labels.
        let labels = model.description.classificationOutput?.labels ?? []
        guard !labels.isEmpty || rows.allSatisfy({ $0.expected == nil }) else {
            throw CommandError("\(request.bundle) is not an image classifier\(model.reasonForTensors)")
        }
        let classes = Dictionary(grouping: labels.indices, by: { labels[$0] })
        let folder = FilePath.folder(of: request.file)
        func path(_ name: String) -> String {
            name.hasPrefix("/") ? name : folder + name
        }
        var tally = Tally()
        for (number, row) in rows.enumerated() {
            progress("\(number + 1) of \(rows.count): \(row.picture)")
            let place = PrintableText.text("\(request.file):\(row.line): \(row.picture)")
            let acceptedIndices: [Int]
            do throws(CommandError) {
                acceptedIndices = try Self.classes(row.expected, labels, classes)
            } catch {
                tally.failed += 1
                complain("\(place): \(error.description)")
                continue
            }
            do {
                let bytes = try InputFile.read(path(row.picture), maximum: settings.maxBody)
                var isGood = true
                if let tensor = row.tensor {
                    tally.tensors += 1
                    if let words = try difference(bytes, model, tensor: path(tensor), name: tensor) {
                        tally.wrongTensors += 1
                        isGood = false
                        output("\(place): the tensor differs: \(words)")
                    }
                }
                if row.expected != nil {
                    try await compare(bytes, row, acceptedIndices, labels, place, model, &tally)
                } else {
                    if isGood { tally.correct += 1 }
                }
            } catch {
                tally.failed += 1
                complain(
                    "\(place): \((error as? InferenceError)?.message ?? (error as? CommandError)?.description ?? "\(error)")"
                )
            }
        }
        progress("")
        return report(tally, rows: rows.count, atLeast: request.atLeast, output)
    }

    private static func rows(of file: String) throws(CommandError) -> [ExpectationFile.Row] {
        do throws(CommandError) {
            return try ExpectationFile(path: file).rows
        } catch {
            throw CommandError("\(file): \(error.description)")
        }
    }

    /// The indices of the classes that a line expects; empty if it expects none. `places` maps labels to indices.
    private static func classes(
        _ expected: ExpectationFile.Class?, _ labels: [String], _ places: [String: [Int]]
    ) throws(CommandError) -> [Int] {
        switch expected {
        case .index(let index)?:
            guard labels.indices.contains(index) else {
                throw CommandError("there is no class \(index): the model has \(labels.count)")
            }
            return [index]
        case .label(let label)?:
            let acceptedIndices = places[label] ?? Int(label).map { labels.indices.contains($0) ? [$0] : [] } ?? []
            guard !acceptedIndices.isEmpty else {
                throw CommandError("\"\(label)\" is not one of the \(labels.count) labels")
            }
            return acceptedIndices
        case nil: return []
        }
    }

    /// The difference between a picture's tensor and that of the original; nil if they are equal.
    private static func difference(
        _ bytes: [UInt8], _ model: Model, tensor: String, name: String
    ) throws(CommandError) -> String? {
        let finding: TensorComparison.Finding
        do throws(CommandError) {
            let made: PreprocessedImage
            do throws(InferenceError) {
                made = try model.preprocess(EncodedImage(bytes))
            } catch {
                throw CommandError(error.message)
            }
            let file = try InputFile.read(tensor, maximum: largestTensor)
            let npy: NPYFile
            do throws(FormatError) {
                npy = try NPYFile(file)
            } catch {
                throw CommandError(error.reason)
            }
            finding = try TensorComparison.run(bytes, made: made, npy: npy, values: npy.floats(in: file))
        } catch {
            throw CommandError("\(name) \(error.description)")
        }
        return finding.difference.map {
            "mean difference \(TensorComparison.rounded(finding.mean)), largest \(TensorComparison.rounded(finding.largest)) of 255 levels; \($0)"
        }
    }

    /// Compares the classes of one picture.
    private static func compare(
        _ bytes: [UInt8], _ row: ExpectationFile.Row, _ acceptedIndices: [Int], _ labels: [String], _ place: String,
        _ model: Model, _ tally: inout Tally
    ) async throws {
        let all = try await model.classification(
            of: EncodedImage(bytes), top: labels.count, threshold: -.greatestFiniteMagnitude
        ).classifications
        guard let first = all.first, let expected = all.first(where: { acceptedIndices.contains($0.index) }) else {
            throw CommandError("the model gave no numbers for it")
        }
        let originals: [(index: Int, confidence: Double)]
        switch row.probabilities {
        case .expected(let confidence)?: originals = [(expected.index, confidence)]
        case .all(let list)?:
            guard list.count == labels.count else {
                throw CommandError("has \(list.count) probabilities, the model has \(labels.count) classes")
            }
            originals = list.enumerated().map { ($0, $1) }
        case .labels(let table)?:
            originals = try table.sorted { $0.key < $1.key }.map { label, confidence in
                guard let index = labels.firstIndex(of: label) else {
                    throw CommandError(
                        "has a probability of \"\(label)\", which is not one of the \(labels.count) labels")
                }
                return (index, confidence)
            }
        case nil: originals = []
        }
        let found = Dictionary(all.map { ($0.index, $0) }, uniquingKeysWith: { one, _ in one })
        for original in originals {
            guard let one = found[original.index] else { continue }
            let difference = abs(Double(one.confidence) - original.confidence)
            if difference > tally.drift.difference { tally.drift = (row.line, one.label, difference) }
        }
        guard !acceptedIndices.contains(first.index) else {
            tally.correct += 1
            return
        }
        tally.add(
            Miss(
                line: PrintableText.text(
                    "\(place): expected \"\(expected.label)\" (\(TensorComparison.rounded(Double(expected.confidence)))), "
                        + "found \"\(first.label)\" (\(TensorComparison.rounded(Double(first.confidence))))"),
                margin: first.confidence - expected.confidence))
    }

    /// Writes the summary.
    /// - Returns: whether enough answers agree.
    private static func report(_ tally: Tally, rows: Int, atLeast: Double?, _ output: (String) -> Void) -> Bool {
        let share = Double(tally.correct) / Double(rows)
        output(
            "\(tally.correct) of \(rows) agree (\(TensorComparison.rounded(share * 100))%)"
                + (tally.failed > 0 ? ", \(tally.failed) failed" : ""))
        if tally.tensors > 0 {
            output("\(tally.tensors - tally.wrongTensors) of \(tally.tensors) tensors are the same, to a level of 255")
        }
        if tally.drift.line > 0 {
            let (line, label, difference) = tally.drift
            output(
                "largest difference of a probability: \(TensorComparison.exact(difference)) (line \(line), \"\(label)\")"
            )
        }
        if !tally.misses.isEmpty { output("the worst:") }
        for miss in tally.misses { output("  \(miss.line)") }
        // A failed picture does not agree. Without a threshold, only pictures that could not be compared are a failure.
        return atLeast.map { share >= $0 } ?? (tally.failed == 0)
    }
}
