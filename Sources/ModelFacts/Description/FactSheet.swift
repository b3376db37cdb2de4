/// What one source, or all sources together, say about a model. Every value is optional: what no source says stays open.
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
    /// What makes the outputs, in the file's order, as far as it is known.
    package var endings: [OutputEnding] = []
    /// How such models end by their exporter's convention, where the graph itself was not read.
    package var usualEnding: Fact<GraphEnding>?
    /// `LABEL_0`, `LABEL_1`, …: what a configuration has that was made without labels.
    package var placeholderLabels: Fact<[String]>?
    /// What the source calls the first class, where a model has one more class than the source has labels.
    package var spareLabel: Fact<String>?
    /// Of the only input, where it holds integers.
    package var inputQuantization: Fact<TensorQuantization>?
    /// Of each output in the file's order; nil for one without a single scale and zero point.
    package var outputQuantizations: [Fact<TensorQuantization>?] = []
    /// Whether each class has its own probability.
    package var multiLabel: Fact<Bool>?
    package var stride: Fact<Int>?
    package var keypoints: Fact<[Int]>?
    /// What the outputs mean, where the source names what decodes them.
    package var head: Fact<ModelHead>?
    package var confidence: Fact<Double>?, iou: Fact<Double>?

    // What people want to know of it.
    package var name: Fact<String>?, details: Fact<String>?, author: Fact<String>?, license: Fact<String>?,
        version: Fact<String>?

    /// What each tensor is, where the file says so; in the order of the file.
    package var outputs: [OutputFacts] = []

    /// What a source asks for and cannot be done here: it must not be served as if it were done.
    package var unsupported: [Fact<String>] = []
    /// Sources that could not be read.
    package var problems: [FactProblem] = []
    /// Where two sources say different things.
    package var disagreements: [Disagreement] = []

    package init() {}

    /// How the only output ends.
    package var ending: Fact<GraphEnding>? { endings.count == 1 ? endings.first?.fact : nil }

    /// How the integers of the output at a place in the file stand for numbers.
    package func outputQuantization(_ index: Int) -> Fact<TensorQuantization>? {
        outputQuantizations.indices.contains(index) ? outputQuantizations[index] : nil
    }

    /// Whether nothing at all was said.
    package var isEmpty: Bool { self == FactSheet() }
}

/// How one output of a graph ends.
package struct OutputEnding: Sendable, Hashable {
    /// The output's name in the file; empty if the format gives it none.
    package let output: String
    package let fact: Fact<GraphEnding>

    package init(output: String, fact: Fact<GraphEnding>) {
        self.output = output
        self.fact = fact
    }
}

/// What a file says about one output.
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
    /// What follows the source's name in a sentence.
    package let reason: String

    package init(source: String, reason: String) {
        self.source = source
        self.reason = reason
    }
}

/// Two sources that say different things.
package struct Disagreement: Sendable, Hashable {
    /// What about: `labels`, `normalization`.
    package let subject: String
    /// Whose word counts, and whose does not.
    package let winner: String, loser: String
    /// What each says, in short.
    package let winning: String, losing: String

    /// A sentence that says all of it.
    package var sentence: String {
        "\(subject): \(winner) says \(winning), \(loser) says \(losing); \(winner) wins"
    }
}
