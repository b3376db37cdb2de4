/// A network or a program as a graph, with what is to be known to fill its inputs and to read its outputs.
package struct TranslatedGraph: Sendable {
    /// Parameters have the names of the description's inputs, results those of its outputs.
    package var graph: Graph
    /// What is applied to pictures before they are handed to the graph, by input.
    package var scalers: [String: ImageScaler]
    /// A classifier's: nil for others.
    package var classifier: Classifier?

    /// The classes of a classifier.
    package struct Classifier: Sendable {
        package var labels: [Category]
        /// The result of the graph with a score for each.
        package var result: String
    }

    /// Translates a model of one of the types that graphs can be.
    /// - Parameter files: those beside the model file, by their path from its folder.
    package init(_ specification: ModelSpecification, files: [String: Bytes]) throws(ImportError) {
        let description = specification.description
        let classes: (labels: ClassLabels, probabilities: String)?
        if specification.type == .mlProgram {
            let program = try ProgramTranslator(description, files: WeightFiles(files)).translate(specification.reader)
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
            let translated = try NetworkTranslator.translate(network, description)
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
}
