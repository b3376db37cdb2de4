internal import CoreMLImport
package import EngineAPI

/// Reads Core ML files for an engine.
///
/// Networks and programs are translated to graphs, which the engine reads; they are then like any other model:
/// compiled, cached, run in batches. All other models, and pipelines, are evaluated step by step (``CoreMLStepsFile``).
package struct CoreMLImporter {
    package let target: any ImportTarget

    package init(target: any ImportTarget) { self.target = target }

    /// Reads the file or package at a path. Blocks.
    package func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        do throws(ImportError) {
            let file = try CoreMLFile(path: source.path)
            let folders = [source.cacheFolder, TemporaryFolder.place].compactMap(\.self)
            let steps = try ModelSteps(file.specification)
            let description = file.specification.description
            guard steps.steps.count == 1, let only = steps.graphs.first else {
                return try stepsFile(steps, file: file, folders: folders)
            }
            let (model, facts) = try graph(only, file: file, folders: folders, takesSequences: true)
            return CoreMLGraphFile(
                model: model,
                facts: CoreMLFacts(description: description, scalers: facts.scalers, classifier: facts.classifier))
        } catch {
            throw EngineError(
                kind: .invalidModel, operation: "read the Core ML file", detail: error.description,
                problems: error.problems.map { BundleProblem(path: $0.place, reason: $0.message) })
        }
    }

    private func stepsFile(
        _ steps: ModelSteps, file: CoreMLFile, folders: [String]
    ) throws(ImportError) -> CoreMLStepsFile {
        var graphs: [CoreMLGraphFile] = []
        var problems: [Problem] = []
        for step in steps.graphs {
            do throws(ImportError) {
                let (model, facts) = try graph(step, file: file, folders: folders)
                graphs.append(CoreMLGraphFile(model: model, facts: facts))
            } catch {
                problems += error.problems.map { $0.inside(step.place) }
            }
        }
        guard problems.isEmpty else { throw ImportError(problems) }
        return try CoreMLStepsFile(steps, graphs: graphs, description: file.specification.description, target: target)
    }

    /// Translates a graph, and reads it with the engine.
    private func graph(
        _ step: ModelSteps.GraphStep, file: CoreMLFile, folders: [String], takesSequences: Bool = false
    ) throws(ImportError) -> (model: any ModelFile, facts: CoreMLFacts) {
        var translated = try TranslatedGraph(
            step.specification, files: file.weights, innerImages: step.innerImages, opensImages: takesSequences,
            takesSequences: takesSequences)
        let description = step.specification.description
        do throws(EngineError) {
            var model: any ModelFile
            do throws(EngineError) {
                model = try target.read(translated.graph, folders: folders)
            } catch {
                // The engine rejects shapes that are not valid for every extent: try again with fixed extents.
                guard translated.canBeClosed,
                    let closed = try? TranslatedGraph(
                        step.specification, files: file.weights, innerImages: step.innerImages, opensExtents: false)
                else { throw error }
                translated = closed
                model = try target.read(translated.graph, folders: folders)
            }
            return (
                model,
                CoreMLFacts(
                    description: description, scalers: translated.scalers,
                    classifier: translated.classifier.map { (ClassLabelList($0.labels), $0.result) })
            )
        } catch {
            throw ImportError([Problem(error.message)])
        }
    }
}

/// A network or a program: the engine's model, with the facts of the Core ML file.
struct CoreMLGraphFile: CoreMLModelFile {
    let model: any ModelFile
    let facts: CoreMLFacts

    var inputs: [TensorPort] { model.inputs }
    var outputs: [TensorPort] { model.outputs }
    func inputIndex(named name: String) -> Int? { model.inputIndex(named: name) }
    func outputIndex(named name: String) -> Int? { model.outputIndex(named: name) }
    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel { try model.compile(options) }
}
