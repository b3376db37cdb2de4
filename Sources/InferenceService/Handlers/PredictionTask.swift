internal import FlowControl
internal import HTTPServer
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Settings

/// One task on the inputs of a request, such as classifying pictures: how it predicts, and how it writes.
/// `PredictionRunner` does the rest.
protocol PredictionTask: Sendable {
    associatedtype Query: TaskQuery
    /// The input of one prediction.
    associatedtype Item: Sendable
    associatedtype Output: TimedOutput

    static var itemKind: ItemKind { get }
    /// True if a form's parts may be inputs of the model by name.
    static var takesInputs: Bool { get }
    /// False if a form may have one picture only: the answer has no place for several.
    static var takesLists: Bool { get }
    /// True if taught models do it.
    static var answersTaughtModels: Bool { get }
    /// True if a model does what the task asks.
    static func fits(_ model: Model, _ query: Query) -> Bool
    /// The name of the model that a request without a name means.
    static func defaultName(
        _ query: Query, in repository: ModelRepository, _ settings: Settings
    ) throws(ServiceError) -> String

    /// The task of a request; refuses a model that does something else, and a query that the model cannot answer.
    init(
        _ run: RunRequest, _ query: Query, of request: HTTPRequest, settings: borrowing Settings
    ) throws(ServiceError)

    /// The item that a picture is.
    /// - Parameter found: what the picture came in, for errors.
    func item(_ image: EncodedImage, found: String) throws(ServiceError) -> Item
    /// The pictures of an item.
    func pictures(of item: Item) -> [ItemPicture]
    /// Nanoseconds that an item's pictures will take.
    func pictureTime(of item: Item) -> UInt64
    /// The reader of a body that is not pictures: of what the task reads, or of a form with inputs; nil for pictures.
    func reader(of request: HTTPRequest, _ form: FormParts?) -> BodyReader<Item>?

    /// Predicts for some items, several in one inference. Gives as many results.
    func predict(_ items: [Item], in slot: Slot) async -> [Result<Output, InferenceError>]

    /// Nanoseconds that writing an output will take, roughly; 0 for short ones.
    func writingTime(of output: Output) -> UInt64
    /// Writes the members of an output's object that is open, while the slot is held.
    /// - Parameter isCancelled: true once the client has left.
    /// - Throws: `cancelled`, or that there is no memory.
    func write(
        _ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) throws(ImageError)
    /// True if `Accept` decides on the form of the answer.
    var isNegotiated: Bool { get }
    /// The form that `Accept` asks for; nil for JSON.
    var form: BinaryForm? { get }
    /// An output in that form; nil if it does not have it.
    func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]?

    /// The question for another version of the model, to compare its answer with an output; nil if they cannot be
    /// compared.
    func shadow(of item: Item, _ output: Output) -> ShadowWork?
    /// True if an answer is for one picture: a list has no place for it.
    var takesOneOnly: Bool { get }
    /// The picture that another model than the request's sees, if that is what `explain` asks for; nil shows what the
    /// request's sees.
    func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage?

    /// The label of the answer for the access line; nil for none.
    func topLabel(of output: Output) -> String?
    /// False if a part of an output, such as a stage of a pipeline, failed for no fault of the request: the next one
    /// may fare better.
    func isWhole(_ output: Output) -> Bool
    /// Counts the content of an output.
    func count(_ output: Output, in metrics: ServiceMetrics)
}

extension PredictionTask {
    func isWhole(_ output: Output) -> Bool { true }
    static var takesLists: Bool { true }
    static var answersTaughtModels: Bool { false }
    static func fits(_ model: Model, _ query: Query) -> Bool { true }
    static func defaultName(
        _ query: Query, in repository: ModelRepository, _ settings: Settings
    ) throws(ServiceError) -> String {
        throw ServiceError(.modelNotFound, "name a model in the path; /v1/models lists the models")
    }
    static var takesInputs: Bool { false }
    func reader(of request: HTTPRequest, _ form: FormParts?) -> BodyReader<Item>? { nil }
    var isNegotiated: Bool { false }
    var form: BinaryForm? { nil }
    var takesOneOnly: Bool { false }
    func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage? { nil }
    func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]? { nil }
    func writingTime(of output: Output) -> UInt64 { 0 }
    func shadow(of item: Item, _ output: Output) -> ShadowWork? { nil }
    func topLabel(of output: Output) -> String? { nil }
    func count(_ output: Output, in metrics: ServiceMetrics) {}
}

/// Tasks whose items are pictures.
extension PredictionTask where Item == EncodedImage {
    static var itemKind: ItemKind { .picture }
    func item(_ image: EncodedImage, found: String) -> EncodedImage { image }
    func pictures(of item: EncodedImage) -> [ItemPicture] { [ItemPicture(input: nil, image: item)] }
    func pictureTime(of item: EncodedImage) -> UInt64 { item.pictureTime }
}

/// A picture of an item.
struct ItemPicture {
    /// The name of its input; nil for the one picture of the model.
    let input: String?
    let image: EncodedImage
}

/// A result with the times of its stages.
protocol TimedOutput: Sendable {
    var times: StageTimes { get }
}

extension ClassificationResult: TimedOutput {}
extension ObservationResult: TimedOutput {}
extension Prediction: TimedOutput {}

/// A form of answers other than JSON.
struct BinaryForm: Sendable {
    /// The media type.
    let type: String
    /// True if the answers of several items are joined, one behind the other; otherwise several are answered in JSON.
    let joins: Bool
}

/// Reads the items of a body. In a structure, because the compiler fails on functions with a typed error as generic
/// arguments.
struct BodyReader<Item: Sendable>: Sendable {
    struct Items: Sendable {
        let items: [Item]
        /// True if they are answered as a list.
        let isList: Bool
    }

    let read: @Sendable () throws(ServiceError) -> Items
}
