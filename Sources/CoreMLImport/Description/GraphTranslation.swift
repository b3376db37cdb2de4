/// A network or a program as a graph, with the data that is needed to fill its inputs and to read its outputs.
package struct TranslatedGraph: Sendable {
    /// Parameters have the names of the description's inputs, results those of its outputs.
    package var graph: Graph
    /// The scalers that are applied to pictures before they are handed to the graph, by input.
    package var scalers: [String: ImageScaler]
    /// A classifier's: nil for others.
    package var classifier: Classifier?

    /// The classes of a classifier.
    package struct Classifier: Sendable {
        package var labels: [Category]
        /// The result of the graph with a score for each.
        package var result: String
    }

    /// True if requests choose extents, and the model can be translated for the default ones as well.
    package var canBeClosed: Bool

    /// Translates a model of one of the types that graphs can be.
    /// - Parameters:
    ///   - files: those beside the model file, by their path from its folder.
    ///   - innerImages: the images that are scaled in the graph, with the color space that they come in.
    ///   - opensExtents: whether requests may choose extents that the file leaves open, where the whole model can be
    ///     translated so; else they are the default ones.
    ///   - takesSequences: whether requests may give inputs of old networks as sequences of any length.
    package init(
        _ specification: ModelSpecification, files: [String: Bytes],
        innerImages: [String: ImageFeature.ColorSpace] = [:], opensExtents: Bool = true, takesSequences: Bool = false
    ) throws(ImportError) {
        let description = specification.description
        let isFlexible = description.inputs.contains(where: \.hasDefaultShape)
        canBeClosed = opensExtents && isFlexible
        let classes: (labels: ClassLabels, probabilities: String)?
        if specification.type == .mlProgram {
            let program = try Self.program(
                specification, WeightFiles(files), opensExtents: opensExtents && isFlexible)
            graph = program.graph
            scalers = [:]
            classes = program.classifier
        } else {
            let network: NeuralNetwork
            do throws(Problem) {
                network = try NeuralNetwork(specification.reader)
            } catch {
                throw ImportError([error])
            }
            let translated = try NetworkTranslator.translate(
                network, description, innerImages: innerImages, opensExtents: opensExtents,
                takesSequences: takesSequences)
            canBeClosed = canBeClosed || translated.hasSequences
            graph = translated.graph
            scalers = translated.scalers
            classes = translated.classifier
        }
        classifier = classes.map { classes in
            let labels: [Category] =
                switch classes.labels {
                case .strings(let labels): labels.map(Category.string)
                case .integers(let labels): labels.map { .int64(Int64($0)) }
                }
            return Classifier(labels: labels, result: classes.probabilities)
        }
    }

    private static func program(
        _ specification: ModelSpecification, _ files: WeightFiles, opensExtents: Bool
    ) throws(ImportError) -> TranslatedProgram {
        func translate(_ opens: Bool) throws(ImportError) -> TranslatedProgram {
            try ProgramTranslator(specification.description, files: files, opensExtents: opens)
                .translate(specification.reader)
        }
        guard opensExtents else { return try translate(false) }
        do throws(ImportError) {
            return try translate(true)
        } catch {
            // What the program cannot do for every shape it does for the default one.
            return try translate(false)
        }
    }
}
