/// The facts about a model from one source, or from all sources together. Every value is optional, because sources are
/// incomplete.
package struct FactSheet: Sendable, Hashable {
    // The conversion of a picture to the tensor.
    package var framing: Fact<PictureFraming>?
    package var filter: Fact<PictureFilter>?
    package var order: Fact<PictureOrder>?
    package var normalization: Fact<PictureNormalization>?
    /// The level of the margin, by channel or one for all.
    package var fill: Fact<[Int]>?

    // The model.
    /// `classify`, `detect`, `segment`, `pose`, or the source's own word.
    package var task: Fact<String>?
    package var inputSize: Fact<FactSize>?
    package var labels: Fact<[String]>?
    /// The last operations of the outputs, in the file's order, as far as they are known.
    package var endings: [OutputEnding] = []
    /// The usual ending of such models by their exporter's convention, if the graph was not read.
    package var usualEnding: Fact<GraphEnding>?
    /// The labels `LABEL_0`, `LABEL_1`, …, which a configuration has if it was made without labels.
    package var placeholderLabels: Fact<[String]>?
    /// The source's name for the first class, if the model has one more class than the source has labels.
    package var backgroundLabel: Fact<String>?
    /// The quantization of the only input, if that holds integers.
    package var inputQuantization: Fact<TensorQuantization>?
    /// The quantization of each output in the file's order; nil for one without a single scale and zero point.
    package var outputQuantizations: [Fact<TensorQuantization>?] = []
    /// True if each class has an independent probability.
    package var multiLabel: Fact<Bool>?
    package var stride: Fact<Int>?
    package var keypoints: Fact<[Int]>?
    /// True if a detector's rows are the final ones, of which none suppresses another.
    package var finalRows: Fact<Bool>?
    /// The meaning of the outputs, if the source names the library that decodes them.
    package var head: Fact<ModelHead>?
    package var confidence: Fact<Double>?, iou: Fact<Double>?
    /// The pooling of the vectors of `last_hidden_state` to an embedding.
    package var pooling: Fact<VectorPooling>?

    // Descriptions for people.
    package var name: Fact<String>?, details: Fact<String>?, author: Fact<String>?, license: Fact<String>?,
        version: Fact<String>?

    /// The facts about each output tensor in the file, in its order.
    package var outputs: [OutputFacts] = []

    /// Required steps that are not supported: the model must not be served without them.
    package var unsupported: [Fact<String>] = []
    /// Sources that could not be read.
    package var problems: [FactProblem] = []
    /// The facts about which two sources differ.
    package var disagreements: [Disagreement] = []

    package init() {}

    /// The ending of the only output; nil if there are several.
    package var ending: Fact<GraphEnding>? { endings.count == 1 ? endings.first?.fact : nil }

    /// The quantization of the output at an index in the file.
    package func outputQuantization(_ index: Int) -> Fact<TensorQuantization>? {
        outputQuantizations.indices.contains(index) ? outputQuantizations[index] : nil
    }

    /// True if no source gave a fact.
    package var isEmpty: Bool { self == FactSheet() }
}

/// The ending of one output of a graph.
package struct OutputEnding: Sendable, Hashable {
    /// The output's name in the file; empty if the format has no names.
    package let output: String
    package let fact: Fact<GraphEnding>

    package init(output: String, fact: Fact<GraphEnding>) {
        self.output = output
        self.fact = fact
    }
}

/// The facts of a file about one output.
package struct OutputFacts: Sendable, Hashable {
    package var name = ""
    /// `feature`, `image`, `bounding box`, or empty.
    package var content = ""
    /// The names of the tensor's channels.
    package var axisLabels: [String]?
    /// The names of the values in the tensor.
    package var valueLabels: [String]?
    package var file = ""

    package init() {}
}

/// A source that could not be read.
package struct FactProblem: Sendable, Hashable {
    package let source: String
    /// The reason, which follows the source's name in a sentence.
    package let reason: String

    package init(source: String, reason: String) {
        self.source = source
        self.reason = reason
    }
}

/// A fact about which two sources differ.
package struct Disagreement: Sendable, Hashable {
    /// The subject: `labels`, `normalization`.
    package let subject: String
    /// The source that counts, and the other one.
    package let winner: String, loser: String
    /// The value of each, in short.
    package let winning: String, losing: String

    /// A sentence with all of this.
    package var sentence: String {
        "\(subject): \(winner) says \(winning), \(loser) says \(losing); \(winner) wins"
    }
}
