package import FlowControl
package import HTTPServer
package import ImagePipeline
package import Inference
package import JSON
package import Repository
package import ServiceCore
package import Settings
package import WireFormats

/// A task on the inputs of a request, such as classifying pictures: how it predicts, and how it writes.
/// `PredictionRunner` does the rest.
package protocol PredictionTask: Sendable {
    associatedtype Query: TaskQuery
    /// The input of one prediction.
    associatedtype Item: Sendable
    associatedtype Output: TimedOutput

    static var itemKind: ItemKind { get }
    /// True if a form's parts may be inputs of the model by name.
    static var takesInputs: Bool { get }
    /// False if the answer has no place for several pictures, so that a form may have only one.
    static var takesLists: Bool { get }
    /// True if taught models can do the task.
    static var answersTaughtModels: Bool { get }
    /// True if a model can do the task.
    static func fits(_ model: Model, _ query: Query) -> Bool
    /// The name of the model for a request that names none.
    static func defaultName(
        _ query: Query, in repository: ModelRepository, _ settings: Settings
    ) throws(ServiceError) -> String

    /// Creates the task of a request. Refuses a model that cannot do it, and a query that the model cannot answer.
    init(
        _ run: RunRequest, _ query: Query, of request: HTTPRequest, settings: borrowing Settings
    ) throws(ServiceError)

    /// The item of a picture.
    /// - Parameter found: the format of the body, for errors.
    func item(_ image: EncodedImage, found: String) throws(ServiceError) -> Item
    /// The pictures of an item.
    func pictures(of item: Item) -> [ItemPicture]
    /// Estimated nanoseconds of decoding an item's pictures.
    func pictureTime(of item: Item) -> UInt64
    /// The reader of a body that is not pictures: in the task's own format, or a form with inputs; nil for pictures.
    func reader(of request: HTTPRequest, _ form: FormParts?) -> BodyReader<Item>?

    /// Predicts for some items, several of them in one inference. Returns as many results, in the same order.
    func predict(_ items: [Item], in slot: Slot) async -> [Result<Output, InferenceError>]

    /// Estimated nanoseconds of writing an output; 0 for short ones.
    func writingTime(of output: Output) -> UInt64
    /// Writes the members of an output's open object, while the slot is held.
    /// - Parameter isCancelled: true once the client has disconnected.
    /// - Throws: `cancelled`, `outOfMemory`.
    func write(
        _ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) throws(ImageError)
    /// True if `Accept` selects the form of the answer.
    var isNegotiated: Bool { get }
    /// The form that `Accept` selects; nil for JSON.
    var form: BinaryForm? { get }
    /// An output in ``form``; nil if it does not have this form.
    func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]?

    /// The item as a question to another version of the model, to compare its answer with an output; nil if they cannot
    /// be compared.
    func shadow(of item: Item, _ output: Output) -> ShadowWork?
    /// True if this answer can hold only one picture.
    var takesOneOnly: Bool { get }
    /// The input of a later model of a pipeline, if `explain` asks for it; nil to show the input of the request's
    /// model.
    func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage?

    /// The label of the answer for the access log; nil for none.
    func topLabel(of output: Output) -> String?
    /// False if a part of an output, such as a stage of a pipeline, failed for a reason outside the request. Such an
    /// answer is not shared.
    func isWhole(_ output: Output) -> Bool
    /// Counts the content of an output in the metrics.
    func count(_ output: Output, in metrics: ServiceMetrics)
}

extension PredictionTask {
    package func isWhole(_ output: Output) -> Bool { true }
    package static var takesLists: Bool { true }
    package static var answersTaughtModels: Bool { false }
    package static func fits(_ model: Model, _ query: Query) -> Bool { true }
    package static func defaultName(
        _ query: Query, in repository: ModelRepository, _ settings: Settings
    ) throws(ServiceError) -> String {
        throw ServiceError(.modelNotFound, "name a model in the path; /v1/models lists the models")
    }
    package static var takesInputs: Bool { false }
    package func reader(of request: HTTPRequest, _ form: FormParts?) -> BodyReader<Item>? { nil }
    package var isNegotiated: Bool { false }
    package var form: BinaryForm? { nil }
    package var takesOneOnly: Bool { false }
    package func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage? {
        nil
    }
    package func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]? { nil }
    package func writingTime(of output: Output) -> UInt64 { 0 }
    package func shadow(of item: Item, _ output: Output) -> ShadowWork? { nil }
    package func topLabel(of output: Output) -> String? { nil }
    package func count(_ output: Output, in metrics: ServiceMetrics) {}
}

/// Defaults of tasks on pictures.
extension PredictionTask where Item == EncodedImage {
    package static var itemKind: ItemKind { .picture }
    package func item(_ image: EncodedImage, found: String) -> EncodedImage { image }
    package func pictures(of item: EncodedImage) -> [ItemPicture] { [ItemPicture(input: nil, image: item)] }
    package func pictureTime(of item: EncodedImage) -> UInt64 { item.pictureTime }
}

/// A picture of an item.
package struct ItemPicture {
    /// The name of the input; nil for the model's only picture.
    let input: String?
    let image: EncodedImage
}

/// A result with the times of its stages.
package protocol TimedOutput: Sendable {
    var times: StageTimes { get }
}

extension ClassificationResult: TimedOutput {}
extension ObservationResult: TimedOutput {}
extension Prediction: TimedOutput {}

/// A form of answers other than JSON.
package struct BinaryForm: Sendable {
    /// The media type.
    let type: String
    /// True if the answers of several items are concatenated; otherwise several are answered in JSON.
    let joins: Bool
}

/// Reads the items of a body. A structure, because the compiler fails on functions with a typed error as generic
/// arguments.
package struct BodyReader<Item: Sendable>: Sendable {
    struct Items: Sendable {
        let items: [Item]
        /// True if the items are answered as a list.
        let isList: Bool
    }

    let read: @Sendable () throws(ServiceError) -> Items
}
