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

    private struct Miss {
        let line: String
        /// How much surer the model was of its own answer.
        let margin: Float
    }

    private static let mostMisses = 10

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
        let model: Model
        do throws(InferenceError) {
            model = try await Model.load(contentsOf: request.bundle, configuration: plan.modelConfiguration)
        } catch {
            throw StartupError(error.message)
        }
        guard let labels = model.description.classificationOutput?.labels, model.description.imageInput != nil else {
            throw StartupError("\(request.bundle) is not an image classifier\(model.reasonForTensors)")
        }
        let indices = Dictionary(labels.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let folder = request.file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
            separator: "/")
        func path(_ name: String) -> String {
            name.hasPrefix("/") || folder.isEmpty && !request.file.hasPrefix("/") ? name : folder + "/" + name
        }
        var correct = 0, failed = 0, tensors = 0, wrongTensors = 0
        var misses: [Miss] = []
        var drift: (line: Int, difference: Double) = (0, 0)
        for (number, row) in rows.enumerated() {
            progress("\(number + 1) of \(rows.count): \(row.picture)")
            let place = "\(request.file):\(row.line): \(row.picture)"
            guard
                let wanted = indices[row.expected]
                    ?? Int(row.expected).flatMap({ labels.indices.contains($0) ? $0 : nil })
            else {
                failed += 1
                complain("\(place): \"\(row.expected)\" is none of the \(labels.count) labels")
                continue
            }
            do {
                let bytes = try InputFile.read(path(row.picture), most: settings.maxBody)
                if let tensor = row.tensor {
                    tensors += 1
                    let finding: TensorComparison.Finding
                    do throws(StartupError) {
                        let made: PreprocessedImage
                        do throws(InferenceError) {
                            made = try model.preprocess(EncodedImage(bytes))
                        } catch {
                            throw StartupError(error.message)
                        }
                        finding = try TensorComparison.run(bytes, made: made, npy: try NPYFile(path: path(tensor)))
                    } catch {
                        throw StartupError("\(tensor) \(error.description)")
                    }
                    let words =
                        "mean difference \(TensorComparison.rounded(finding.mean)), largest \(TensorComparison.rounded(finding.largest)) of 255 levels"
                    if let difference = finding.difference {
                        wrongTensors += 1
                        output("\(place): the tensor differs: \(words); \(difference)")
                    }
                }
                let all = try await model.classification(of: EncodedImage(bytes), top: labels.count).classifications
                guard let first = all.first, let expected = all.first(where: { $0.index == wanted }) else { continue }
                if let confidence = row.confidence {
                    let difference = abs(Double(expected.confidence) - confidence)
                    if difference > drift.difference { drift = (row.line, difference) }
                }
                if first.index == wanted {
                    correct += 1
                } else {
                    misses.append(
                        Miss(
                            line:
                                "\(place): expected \"\(expected.label)\" (\(TensorComparison.rounded(Double(expected.confidence)))), "
                                + "found \"\(first.label)\" (\(TensorComparison.rounded(Double(first.confidence))))",
                            margin: first.confidence - expected.confidence))
                    misses.sort { $0.margin > $1.margin }
                    if misses.count > mostMisses { misses.removeLast() }
                }
            } catch {
                failed += 1
                complain(
                    "\(place): \((error as? InferenceError)?.message ?? (error as? StartupError)?.description ?? "\(error)")"
                )
            }
        }
        progress("")
        let share = Double(correct) / Double(rows.count)
        output(
            "\(correct) of \(rows.count) agree (\(TensorComparison.rounded(share * 100))%)"
                + (failed > 0 ? ", \(failed) failed" : ""))
        if tensors > 0 { output("\(tensors - wrongTensors) of \(tensors) tensors are the same, to a level of 255") }
        if drift.line > 0 {
            output(
                "largest difference of a confidence: \(TensorComparison.rounded(drift.difference)) (line \(drift.line))"
            )
        }
        if !misses.isEmpty { output("the worst:") }
        for miss in misses { output("  \(miss.line)") }
        // A picture that failed does not agree; without a threshold only those that could not be compared are a failure.
        return request.atLeast.map { share >= $0 } ?? (failed == 0)
    }
}
