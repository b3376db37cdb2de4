package import HTTPServer
package import Inference
package import WireFormats

/// Reads the inputs of a task.
package protocol TaskInputs: Sendable {
    /// The input of one prediction.
    associatedtype Item: Sendable

    /// The kind of the items. The parts of a form may be inputs by name if items are such inputs.
    static var itemKind: ItemKind { get }
    /// The item of a picture.
    /// - Parameter found: the format of the body, for errors.
    func item(_ image: EncodedImage, found: String) throws(ServiceError) -> Item
    /// The pictures of an item, with the names of their inputs; nil for the model's only picture.
    func pictures(of item: Item) -> [(input: String?, image: EncodedImage)]
    /// Estimated nanoseconds of decoding an item's pictures.
    func pictureTime(of item: Item) -> UInt64
    /// True if a body is not pictures: it is in the task's own format, or a form with inputs by name.
    func reads(_ request: HTTPRequest, _ form: FormParts?) -> Bool
    /// Reads such a body: its items, and whether they are answered as a list.
    func read(_ request: HTTPRequest, _ form: FormParts?) throws(ServiceError) -> (items: [Item], isList: Bool)
}

/// A picture for each prediction.
package struct PictureInputs: TaskInputs {
    package static var itemKind: ItemKind { .picture }

    package init() {}

    package func item(_ image: EncodedImage, found: String) -> EncodedImage { image }
    package func pictures(of item: EncodedImage) -> [(input: String?, image: EncodedImage)] { [(nil, item)] }
    package func pictureTime(of item: EncodedImage) -> UInt64 { item.pictureTime }
    package func reads(_ request: HTTPRequest, _ form: FormParts?) -> Bool { false }
    package func read(_ request: HTTPRequest, _ form: FormParts?) -> (items: [EncodedImage], isList: Bool) {
        ([], false)
    }
}

/// The kind of a request's items, with their name in answers and errors.
package enum ItemKind: String {
    /// Pictures: the answer of an item is complete, with the model's name.
    case picture = "part"
    /// Inputs by name: an error names the input.
    case inputs = "item"
}
