/// The facts that one source, or all sources together, give about a model. Every value is optional: what no source says
/// stays open.
package struct FactSheet: Sendable, Hashable {
    // How a picture becomes the tensor.
    package var framing: Fact<PictureFraming>?
    package var filter: Fact<PictureFilter>?
    package var order: Fact<PictureOrder>?
    package var normalization: Fact<PictureNormalization>?
    /// The level of what is left free, by channel or one for all.
    package var fill: Fact<[Int]>?

    // What the model is.
    /// `classify`, `detect`, `segment`, `pose`, or the source's own word.
    package var task: Fact<String>?
    package var inputSize: Fact<FactSize>?
    package var labels: Fact<[String]>?
    /// The operations that make the outputs, in the file's order, as far as they are known.
    package var endings: [OutputEnding] = []
    /// The usual ending of such models by their exporter's convention, where the graph itself was not read.
    package var usualEnding: Fact<GraphEnding>?
    /// `LABEL_0`, `LABEL_1`, …: what a configuration has that was made without labels.
    package var placeholderLabels: Fact<[String]>?
    /// The source's name of the first class, where a model has one more class than the source has labels.
    package var spareLabel: Fact<String>?
    /// Of the only input, where it holds integers.
    package var inputQuantization: Fact<TensorQuantization>?
    /// Of each output in the file's order; nil for one without a single scale and zero point.
    package var outputQuantizations: [Fact<TensorQuantization>?] = []
    /// True if each class has its own probability.
    package var multiLabel: Fact<Bool>?
    package var stride: Fact<Int>?
    package var keypoints: Fact<[Int]>?
    /// The meaning of the outputs, where the source names what decodes them.
    package var head: Fact<ModelHead>?
    package var confidence: Fact<Double>?, iou: Fact<Double>?
    /// The way in which the vectors of `last_hidden_state` become an embedding.
    package var pooling: Fact<VectorPooling>?

    // What people want to know of it.
    package var name: Fact<String>?, details: Fact<String>?, author: Fact<String>?, license: Fact<String>?,
        version: Fact<String>?

    /// The facts about each output tensor, where the file gives them; in the order of the file.
    package var outputs: [OutputFacts] = []

    /// The steps that a source asks for and that cannot be done here: the model must not be served as if they were
    /// done.
    package var unsupported: [Fact<String>] = []
    /// Sources that could not be read.
    package var problems: [FactProblem] = []
    /// The points on which two sources say different things.
    package var disagreements: [Disagreement] = []

    package init() {}

    /// The ending of the only output.
    package var ending: Fact<GraphEnding>? { endings.count == 1 ? endings.first?.fact : nil }

    /// The quantization of the output at a place in the file: how its integers stand for numbers.
    package func outputQuantization(_ index: Int) -> Fact<TensorQuantization>? {
        outputQuantizations.indices.contains(index) ? outputQuantizations[index] : nil
    }

    /// True if nothing at all was said.
    package var isEmpty: Bool { self == FactSheet() }
}

/// The ending of one output of a graph.
package struct OutputEnding: Sendable, Hashable {
    /// The output's name in the file; empty if the format gives it none.
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
    /// `feature`, `image`, `bounding box`, or nothing.
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
    /// The text that follows the source's name in a sentence.
    package let reason: String

    package init(source: String, reason: String) {
        self.source = source
        self.reason = reason
    }
}

/// Two sources that say different things.
package struct Disagreement: Sendable, Hashable {
    /// The subject: `labels`, `normalization`.
    package let subject: String
    /// The source that counts, and the source that does not.
    package let winner: String, loser: String
    /// The value of each, in short.
    package let winning: String, losing: String

    /// A sentence that says all of it.
    package var sentence: String {
        "\(subject): \(winner) says \(winning), \(loser) says \(losing); \(winner) wins"
    }
}
