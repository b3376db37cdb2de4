package import WireFormats

/// A client of a model in one language: its types, members and the route that it calls. Pure.
package struct ClientPlan: Sendable {
    package let model: ModelInterface
    package let names: ClientNames
    /// The type of the client; the others begin with it.
    package let type: String
    package let inputs: [Member]
    package let call: Call

    /// An input or output with the name of its member.
    package struct Member: Sendable {
        package let name: String
        package let feature: ModelInterface.Feature

        /// True for a sequence of tensors.
        var isTensors: Bool { if case .tensors = feature.form { true } else { false } }
    }

    /// The request of a prediction, and its outputs.
    package enum Call: Sendable {
        /// `/predict`: all features.
        case predict([Member])
        /// A task on one picture.
        case task(ModelInterface.Answer)
    }

    /// The cases of the labels: of the classes of the answer; nil if there are no names for them.
    package let cases: [(name: String, text: String)]?
    /// The member of the outputs with the label of the classification; nil if they have none.
    package let label: Member?
    /// The member with the number of each label, if no member has the label: the best one is the label. It may have
    /// several rows.
    package let scores: Member?

    /// - Throws: a sentence if the model has nothing that a client could call.
    package init(_ model: ModelInterface, language: ClientLanguage) throws(ClientError) {
        self.model = model
        names = ClientNames(language)
        type = names.type(model.name)
        let order = { (features: [ModelInterface.Feature]) in
            features.filter { !$0.isOptional } + features.filter(\.isOptional)
        }
        func members(
            _ features: [ModelInterface.Feature], _ names: ClientNames, besides taken: Set<String> = []
        ) -> [Member] {
            zip(names.members(features.map(\.name), besides: taken), features).map { Member(name: $0, feature: $1) }
        }
        let answer = Self.answer(of: model)
        if let answer {
            // A task takes one picture. A taught model has no name for it while its embedder is not loaded.
            let picture = model.inputs.first { $0.form == .picture }
            inputs = [Member(name: names.members([picture?.name ?? "image"])[0], feature: picture ?? .image)]
            call = .task(answer)
            cases = names.cases(answer.labels ?? [])
            (label, scores) = (nil, nil)
            return
        }
        guard model.predicts else { throw ClientError("\(model.name) answers no route that a client can call") }
        inputs = members(order(model.inputs), names)
        // The names of types in the outputs.
        let outputs = members(model.outputs, names, besides: ["DepthMap", "Tensor"])
        call = .predict(outputs)
        let labelled = outputs.filter { output in
            let form = output.feature.form
            return output.feature.labels != nil && (form == .dictionary(hasIntegerKeys: false) || form == .rows)
        }
        let texts = outputs.filter { $0.feature.form == .text }
        // Not every file says which of its outputs is the label: with one list of labels, it is the only text.
        let only = labelled.count == 1 && texts.count == 1 ? texts.first : nil
        label = texts.first { $0.feature.labels != nil } ?? only
        let isTaken = outputs.contains { ["classLabel", "classLabels", "classLabelProbs"].contains($0.name) }
        scores = labelled.count == 1 && label == nil && !isTaken ? labelled[0] : nil
        let labels = label?.feature.labels ?? labelled.first?.feature.labels
        cases = label == nil && scores == nil ? nil : names.cases(labels ?? [])
    }

    /// The answer of the task that a client asks for; nil for `/predict`. A classifier by embeddings classifies, and an
    /// ordinary classifier gives its features.
    private static func answer(of model: ModelInterface) -> ModelInterface.Answer? {
        let observed = model.answers.filter { $0.route != .classify }
        let classes = model.answer(.classify)
        if !model.predicts { return observed.first ?? classes }
        return observed.first?.route == .embed ? classes ?? observed.first : observed.first
    }

    /// The last word of the route.
    package var route: String {
        switch call {
        case .predict: "predict"
        case .task(let answer): answer.route.rawValue
        }
    }

    /// The only input, if the body of a request is its picture.
    package var picture: Member? {
        guard inputs.count == 1, inputs[0].feature.form == .picture, !inputs[0].feature.isOptional else { return nil }
        return inputs[0]
    }

    /// Parameters that each request has.
    package var query: [(name: String, value: String)] {
        // All classes, as a classifier gives them; those of a taught model change.
        if case .task(let answer) = call, answer.route == .classify, !model.isTaught, let count = answer.labels?.count {
            return [("top", "\(count)")]
        }
        return []
    }
}

/// A client that cannot be made.
package struct ClientError: Error {
    package let message: String

    init(_ message: String) { self.message = message }
}

extension ModelInterface.Feature {
    /// The picture of a task.
    static let image = ModelInterface.Feature(
        name: "image", form: .picture, labels: nil, isOptional: false, defaultValue: nil, takesMissing: false,
        tensor: "a picture")
}
