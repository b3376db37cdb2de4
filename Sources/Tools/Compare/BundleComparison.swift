internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import InferenceService
package import Settings

/// Compares what a bundle answers with what was expected: what `ocelli check --against` does.
package enum BundleComparison {
    /// What is asked for.
    package struct Request: Sendable {
        package var bundle = ""
        package var file = ""
        /// The least share of answers that must agree, 0 to 1.
        package var atLeast: Double?

        package init() {}
    }

    /// Runs the file's pictures through the bundle and writes what agrees and what does not.
    /// - Returns: whether enough of it agrees; without a threshold, whether everything could be compared.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Bool {
        let rows: [ExpectationFile.Row]
        do throws(StartupError) {
            rows = try ExpectationFile(path: request.file).rows
        } catch {
            throw StartupError("\(request.file): \(error.description)")
        }
        progress("loading the model...")
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let model = try await ModelAtPath.load(request.bundle, plan.modelConfiguration)
        guard let labels = model.description.classificationOutput?.labels, model.description.imageInput != nil else {
            throw StartupError("\(request.bundle) is not an image classifier\(model.reasonForTensors)")
        }
        let comparison = RowComparison(file: request.file, model: model, labels: labels, most: settings.maxBody)
        var tally = Tally()
        for (number, row) in rows.enumerated() {
            progress("\(number + 1) of \(rows.count): \(row.picture)")
            do {
                try await comparison.compare(row, &tally, output: output)
            } catch {
                tally.failed += 1
                let reason = (error as? InferenceError)?.message ?? (error as? StartupError)?.description ?? "\(error)"
                complain("\(comparison.place(of: row)): \(reason)")
            }
        }
        progress("")
        tally.write(rows: rows.count, output)
        // A picture that failed does not agree; without a threshold only those that could not be compared are a failure.
        let share = Double(tally.correct) / Double(rows.count)
        return request.atLeast.map { share >= $0 } ?? (tally.failed == 0)
    }

    /// What the rows gave.
    private struct Tally {
        struct Miss {
            let line: String
            /// By how much the model preferred its own answer.
            let margin: Float
        }
        static let mostMisses = 10

        var correct = 0, failed = 0, tensors = 0, wrongTensors = 0
        var drift: (line: Int, difference: Double) = (0, 0)
        private var misses: [Miss] = []

        mutating func add(_ miss: Miss) {
            misses.append(miss)
            misses.sort { $0.margin > $1.margin }
            if misses.count > Self.mostMisses { misses.removeLast() }
        }

        func write(rows: Int, _ output: (String) -> Void) {
            let share = TensorComparison.rounded(Double(correct) / Double(rows) * 100)
            output("\(correct) of \(rows) agree (\(share)%)" + (failed > 0 ? ", \(failed) failed" : ""))
            if tensors > 0 {
                output("\(tensors - wrongTensors) of \(tensors) tensors are the same, to a level of 255")
            }
            if drift.line > 0 {
                let difference = TensorComparison.rounded(drift.difference)
                output("largest difference of a confidence: \(difference) (line \(drift.line))")
            }
            if !misses.isEmpty { output("the worst:") }
            for miss in misses { output("  \(miss.line)") }
        }
    }

    /// Compares one row after the other.
    private struct RowComparison {
        let file: String
        let model: Model
        let labels: [String]
        /// Bytes of a picture.
        let most: Int
        private let indices: [String: Int]
        private let folder: String

        init(file: String, model: Model, labels: [String], most: Int) {
            (self.file, self.model, self.labels, self.most) = (file, model, labels, most)
            indices = Dictionary(labels.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        }

        func place(of row: ExpectationFile.Row) -> String { "\(file):\(row.line): \(row.picture)" }

        /// - Throws: what keeps the row from being compared.
        func compare(_ row: ExpectationFile.Row, _ tally: inout Tally, output: (String) -> Void) async throws {
            let wanted =
                indices[row.expected] ?? Int(row.expected).flatMap { labels.indices.contains($0) ? $0 : nil }
            guard let wanted else { throw StartupError("\"\(row.expected)\" is not one of the \(labels.count) labels") }
            let bytes = try InputFile.read(path(row.picture), most: most)
            if let tensor = row.tensor {
                tally.tensors += 1
                let finding = try compare(bytes, with: tensor)
                let (mean, largest) = (
                    TensorComparison.rounded(finding.mean), TensorComparison.rounded(finding.largest)
                )
                if let difference = finding.difference {
                    tally.wrongTensors += 1
                    output(
                        "\(place(of: row)): the tensor differs: mean difference \(mean), largest \(largest) of 255 levels; \(difference)"
                    )
                }
            }
            let all = try await model.classification(of: EncodedImage(bytes), top: labels.count).classifications
            guard let first = all.first, let expected = all.first(where: { $0.index == wanted }) else { return }
            if let confidence = row.confidence {
                let difference = abs(Double(expected.confidence) - confidence)
                if difference > tally.drift.difference { tally.drift = (row.line, difference) }
            }
            guard first.index != wanted else {
                tally.correct += 1
                return
            }
            func named(_ one: Classification) -> String {
                "\"\(one.label)\" (\(TensorComparison.rounded(Double(one.confidence))))"
            }
            tally.add(
                Tally.Miss(
                    line: "\(place(of: row)): expected \(named(expected)), found \(named(first))",
                    margin: first.confidence - expected.confidence))
        }

        private func compare(_ bytes: [UInt8], with tensor: String) throws -> TensorComparison.Finding {
            do throws(StartupError) {
                let made: PreprocessedImage
                do throws(InferenceError) {
                    made = try model.preprocess(EncodedImage(bytes))
                } catch {
                    throw StartupError(error.message)
                }
                return try TensorComparison.run(bytes, made: made, npy: try NPYFile(path: path(tensor)))
            } catch {
                throw StartupError("\(tensor) \(error.description)")
            }
        }

        /// Paths are relative to the file that names them.
        private func path(_ name: String) -> String {
            name.hasPrefix("/") || folder.isEmpty && !file.hasPrefix("/") ? name : folder + "/" + name
        }
    }
}
