/// A model of the file: one that is evaluated, or a pipeline of such models (Model.proto: Model, Pipeline).
indirect enum ModelPart: Sendable {
    case step(RefereeStep)
    case pipeline(ModelInterface, [ModelPart])

    /// The deepest nesting of pipelines, and the most models of a file.
    private static let maximumDepth = 16, maximumModels = 1_000

    var interface: ModelInterface {
        switch self {
        case .step(let step): step.interface
        case .pipeline(let interface, _): interface
        }
    }

    init(_ message: WireMessage) throws(ImpossibleJudgment) {
        var models = 0
        self = try Self.read(message, depth: 0, models: &models)
    }

    private static func read(
        _ message: WireMessage, depth: Int, models: inout Int
    ) throws(ImpossibleJudgment) -> ModelPart {
        models += 1
        guard depth <= maximumDepth, models <= maximumModels else {
            throw ImpossibleJudgment("its pipelines have too many models")
        }
        var (type, description): (WireField?, WireField?) = (nil, nil)
        try message.fields { (field) throws(ImpossibleJudgment) in
            if field.number == 2 { description = field }
            if field.number >= 200 { type = field }
        }
        guard let type else { throw ImpossibleJudgment("the file has a model without a type") }
        if let reason = refusal(type.number) { throw ImpossibleJudgment(reason) }
        let interface = try ModelInterface(try description?.message())
        guard (200...202).contains(type.number) else {
            return .step(RefereeStep(interface: interface, model: try model(type, interface)))
        }
        let list = type.number == 202 ? try type.message() : try type.message().last(1)?.message()
        var parts: [ModelPart] = []
        try list?.fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            parts.append(try read(field.message(), depth: depth + 1, models: &models))
        }
        guard !parts.isEmpty else { throw ImpossibleJudgment("the file has an empty pipeline") }
        return .pipeline(interface, parts)
    }

    private static func model(
        _ field: WireField, _ interface: ModelInterface
    ) throws(ImpossibleJudgment) -> any RefereeModel {
        let message = try field.message()
        switch field.number {
        case 300: return try LinearRegression(message, interface)
        case 301: return try VectorRegression(message, interface)
        case 302: return try TreeRegression(message, interface)
        case 400: return try LinearClassification(message, interface)
        case 401: return try VectorClassification(message, interface)
        case 402: return try TreeClassification(message, interface)
        case 404: return try NeighborModel(message, interface)
        case 600: return try CategoryStep(oneHot: message, interface)
        case 601: return try ImputerStep(message, interface)
        case 602: return try FeatureVectorizerStep(message, interface)
        case 603: return try DictionaryVectorizerStep(message, interface)
        case 604: return try ScalerStep(message, interface)
        case 606: return try CategoryStep(mapping: message, interface)
        case 607: return try NormalizerStep(message, interface)
        case 609: return try ExtractorStep(message, interface)
        case 900: return try IdentityStep(interface)
        default: throw ImpossibleJudgment("no independent evaluation of models of type \(field.number) exists")
        }
    }

    /// The reason why a type of model cannot be judged; nil for others.
    private static func refusal(_ type: Int) -> String? {
        switch type {
        case 303, 403, 500: "no independent evaluation of neural networks exists"
        case 502: "no independent evaluation of ML Programs exists"
        case 610: "no independent evaluation of non-maximum suppression exists"
        default: nil
        }
    }

    /// The model as the format may also be understood; nil if its text has one meaning.
    var otherReading: ModelPart? {
        switch self {
        case .step(let step):
            return step.model.otherReading.map { .step(RefereeStep(interface: step.interface, model: $0)) }
        case .pipeline(let interface, let parts):
            let others = parts.map(\.otherReading)
            guard others.contains(where: { $0 != nil }) else { return nil }
            return .pipeline(interface, zip(parts, others).map { $1 ?? $0 })
        }
    }

    /// Adds the outputs to a row.
    func advance(_ row: inout RefereeRow) throws(RowProblem) {
        switch self {
        case .step(let step): try step.advance(&row)
        case .pipeline(let interface, let parts):
            // The models of a pipeline see only its inputs, and only its outputs remain.
            var inner: RefereeRow = [:]
            for input in interface.inputs {
                guard let value = row[input.name] else { continue }
                inner[input.name] = try input.holding(value)
            }
            for part in parts { try part.advance(&inner) }
            for output in interface.outputs {
                guard let value = inner[output.name] else { continue }
                row[output.name] = try output.holding(value)
            }
        }
    }
}
