package import Inference

/// A model as clients see it: the routes that it answers, its inputs and outputs with their forms in JSON, and its
/// labels. The OpenAPI document of a model and `ocelli client` are made from it.
package struct ModelInterface: Sendable {
    /// The name under which it is served.
    package let name: String
    package private(set) var version = "", details = "", author = "", license = "", backend = ""
    /// The inputs and outputs of `/predict`, in the model's order; the inputs of a picture's tasks, too.
    package private(set) var inputs: [Feature] = [], outputs: [Feature] = []
    /// True if it answers `/predict` with its outputs.
    package private(set) var predicts = false
    /// The answers of its other routes.
    package private(set) var answers: [Answer] = []
    /// True for a taught model, which has routes of its own.
    package private(set) var isTaught = false
    /// True for a pipeline.
    package private(set) var isPipeline = false
    /// True for a calibrated classifier: its answers can have sets of labels.
    package private(set) var isCalibrated = false

    /// A route that takes pictures, and what its answer contains.
    package struct Answer: Sendable {
        package let route: Route
        /// The names of the classes; nil if they are not known.
        package var labels: [String]?
        /// The names of the keypoints; empty for none.
        package var points: [String] = []
        /// True if detections have masks.
        package var hasMasks = false
        /// The length of an embedding; nil if it is not known.
        package var dimension: Int?
        /// The stages of a pipeline: their answers are members of each detection.
        package var stages: [Stage] = []

        package init(route: Route, labels: [String]? = nil) {
            (self.route, self.labels) = (route, labels)
        }
    }

    /// A stage of a pipeline.
    package struct Stage: Sendable {
        /// The member of a detection.
        package let name: String
        package let answer: Answer
    }

    /// The routes of tasks on pictures; the raw values are the last words of their paths.
    package enum Route: String, Sendable, CaseIterable {
        case classify, detect, segment, keypoints, embed, read
    }

    /// The form of a value in JSON.
    package indirect enum Form: Sendable, Equatable {
        case number, integer, flag, text
        /// A picture: base64 in JSON.
        case picture
        /// A depth map: a picture with its range.
        case depth
        /// The bytes of a tensor's elements: base64 in JSON.
        case bytes
        /// Numbers by key.
        case dictionary(hasIntegerKeys: Bool)
        /// Numbers by key for each row of the inputs: a list, or for one row its object.
        case rows
        /// A list of tensors, each nested as its own shape; with the form of their elements.
        case tensors(Form)
        /// Nested arrays. An extent is -1 if each request may choose it.
        case array(Form, extents: [Int])

        /// The form of the elements, and the number of levels of arrays around them.
        package var elements: (form: Form, depth: Int) {
            if case .array(let element, let extents) = self { (element, extents.count) } else { (self, 0) }
        }
    }

    /// An input or output.
    package struct Feature: Sendable {
        package let name: String
        package let form: Form
        /// The keys of a dictionary, or the values that a text or an integer can have; nil if they are not known.
        package let labels: [String]?
        package let isOptional: Bool
        package let defaultValue: Double?
        /// True if a number may be missing: `null`, not a number.
        package let takesMissing: Bool
        /// The type and shape of its tensor, for documents.
        package let tensor: String

        // Wide: a record, in the order of its fields.
        package init(
            name: String, form: Form, labels: [String]?, isOptional: Bool, defaultValue: Double?, takesMissing: Bool,
            tensor: String
        ) {
            self.name = name
            self.form = form
            self.labels = labels
            self.isOptional = isOptional
            self.defaultValue = defaultValue
            self.takesMissing = takesMissing
            self.tensor = tensor
        }
    }

    /// The interface of a loaded model.
    /// - Parameter name: the name under which it is served.
    package init(_ model: Model, name: String) {
        self.name = name
        let description = model.description
        (version, details) = (description.version, description.details)
        (author, license, backend) = (description.author, description.license, description.backend)
        isCalibrated = model.calibration != nil
        inputs = description.inputs.map(Self.input)
        if let pipeline = model.pipeline {
            isPipeline = true
            var answer = Self.answer(.detect, of: pipeline.detector)
            answer.stages = Self.stages(pipeline.stages)
            answers = [answer]
            return
        }
        if model.reader != nil {
            answers = [Answer(route: .read)]
            return
        }
        if let words = model.words {
            // The answers of texts have the same members as those of pictures, and some more.
            if model.takesLabels { answers.append(Self.answer(.classify, of: model)) }
            var answer = Answer(route: .embed)
            answer.dimension = words.dimension
            answers.append(answer)
            guard model.hasTensors else { return }
        }
        predicts = true
        let hasRows = description.inputs.contains { Self.takesRows($0.shape) }
        outputs = description.outputs.map { Self.output($0, hasRows: hasRows) }
        if model.isImageClassifier, model.words == nil { answers.append(Self.answer(.classify, of: model)) }
        for task in model.tasks where model.words == nil {
            guard let route = Route(rawValue: task.rawValue) else { continue }
            answers.append(Self.answer(route, of: model))
        }
    }

    /// The interface of a taught model.
    /// - Parameter embedder: the model that makes its embeddings; nil if it is not loaded.
    package init(taught name: String, version: String, labels: [String], embedder: Model?) {
        self.name = name
        self.version = version
        isTaught = true
        inputs = embedder?.description.inputs.map(Self.input) ?? []
        answers = [Answer(route: .classify, labels: labels.isEmpty ? nil : labels)]
    }

    /// The answer of a route; nil if the model does not answer it.
    package func answer(_ route: Route) -> Answer? { answers.first { $0.route == route } }

    /// The only required input, if it is a picture.
    package var pictureInput: Feature? {
        let needed = inputs.filter { !$0.isOptional }
        return needed.count == 1 && needed[0].form == .picture ? needed[0] : nil
    }

    // MARK: Answers

    private static func answer(_ route: Route, of model: Model) -> Answer {
        var answer = Answer(route: route)
        guard let task = ObservationTask(rawValue: route.rawValue) else {
            answer.labels = model.description.classLabels
            return answer
        }
        guard let output = model.observationOutput(for: task) else { return answer }
        answer.labels = output.labels
        switch output.kind {
        case .boxes(let boxes):
            answer.points = boxes.keypoints?.skeleton.names ?? []
            answer.hasMasks = boxes.masks != nil
        case .keypoints(_, let skeleton): answer.points = skeleton.names
        case .embedding: answer.dimension = model.embeddingDimension
        case .mask, .text, .regions: break
        }
        return answer
    }

    private static func stages(_ stages: [Pipeline.Stage]) -> [Stage] {
        stages.compactMap { stage in
            guard let route = Route(rawValue: stage.description.task.rawValue) else { return nil }
            // The classes of a taught model change apart from the pipeline.
            var answer = stage.model.map { Self.answer(route, of: $0) } ?? Answer(route: route)
            answer.stages = Self.stages(stage.each)
            return Stage(name: stage.description.name, answer: answer)
        }
    }

    // MARK: Features

    private static func input(_ feature: FeatureDescription) -> Feature {
        Self.feature(feature, form: form(of: feature, isOutput: false))
    }

    private static func output(_ feature: FeatureDescription, hasRows: Bool) -> Feature {
        let form =
            switch feature.composition {
            case .tensors(let type)?: Form.tensors(type == .string ? .text : element(of: type, isTransformed: false))
            case .maps?: Form.rows
            case .map?: Form.dictionary(hasIntegerKeys: false)
            case nil: Self.form(of: feature, isOutput: true)
            }
        // Where inputs have rows, scores with labels have as many.
        let isOpen = feature.fileShape.dimensions.first == Shape.dynamic
        let isScores = feature.kind == .array && feature.labels != nil && form == .dictionary(hasIntegerKeys: false)
        let isRows = hasRows && isOpen && isScores
        return Self.feature(feature, form: isRows ? .rows : form)
    }

    /// True if an input of a shape takes several rows: its first axis is open, or not 1.
    private static func takesRows(_ shape: Shape) -> Bool {
        guard let first = shape.dimensions.first else { return false }
        return first == Shape.dynamic || first != 1 && shape.dimensions.count > 1
    }

    private static func feature(_ feature: FeatureDescription, form: Form) -> Feature {
        let tensor =
            switch feature.composition {
            case .tensors(let type)?: "a sequence of tensors of \(type.rawValue)"
            case .maps?: "a map of numbers for each row"
            case .map?: "a map of numbers"
            case nil: "\(feature.elementType.rawValue) \(feature.shape)"
            }
        return Feature(
            name: feature.name, form: form, labels: feature.labels, isOptional: feature.isOptional,
            defaultValue: feature.defaultValue, takesMissing: feature.takesMissing, tensor: tensor)
    }

    /// The form of the elements of a tensor of numbers.
    private static func element(of type: ElementType, isTransformed: Bool) -> Form {
        let isWhole = !type.isFloatingPoint && !isTransformed
        return !isWhole ? .number : type == .bool ? .flag : .integer
    }

    private static func form(of feature: FeatureDescription, isOutput: Bool) -> Form {
        // The extents with which values are written: without leading ones if the model fixes the shape.
        let dimensions = feature.shape.dimensions
        let extents = feature.shape.isStatic ? Array(dimensions.drop { $0 == 1 }) : dimensions
        func nested(_ form: Form) -> Form { extents.isEmpty ? form : .array(form, extents: extents) }
        switch feature.kind {
        case .image: return .picture
        case .depth: return .depth
        case .string: return .bytes
        case .dictionary: return .dictionary(hasIntegerKeys: feature.hasIntegerKeys)
        case .text: return nested(.text)
        case .array, .scalar:
            if isOutput, feature.kind == .array, feature.labels != nil { return .dictionary(hasIntegerKeys: false) }
            return nested(element(of: feature.elementType, isTransformed: feature.isTransformed))
        }
    }
}
