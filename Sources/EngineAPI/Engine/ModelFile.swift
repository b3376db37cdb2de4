/// A model file that was read: its inputs and outputs are known, but it is not compiled yet.
public protocol ModelFile: Sendable {
    /// The inputs, in the file's order.
    var inputs: [TensorPort] { get }
    /// The outputs, in the file's order.
    var outputs: [TensorPort] { get }

    /// The index of the input with this name; a file may give one tensor several names.
    func inputIndex(named name: String) -> Int?
    /// The index of the output with this name.
    func outputIndex(named name: String) -> Int?

    /// The rewrite of its 8-bit weights; nil if it has none with zero points, or if they must not be rewritten.
    var integerWeights: IntegerWeights? { get }

    /// The digest of its files' contents and of the way they were read, in hexadecimal digits; nil if it is not known.
    var digest: String? { get }

    /// Compiles the model; must be called only once. Blocks: for seconds if a large model is not in the cache.
    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel
}

extension ModelFile {
    /// The default for files without such weights.
    public var integerWeights: IntegerWeights? { nil }

    /// The default for engines that do not compute it.
    public var digest: String? { nil }
}

/// The location of a model.
public struct ModelSource: Sendable, Hashable {
    /// The file, or for TensorFlow the SavedModel's folder.
    public let path: String
    /// True if the engine may rewrite 8-bit weights so that it computes in integers, with the same sums.
    public var allowsIntegerWeights = false
    /// The folder of compiled models, also used for files that the engine needs while the model is loaded. If nil,
    /// nothing is cached, and such files are written to the folder for temporary files.
    public var cacheFolder: String?

    /// The preferred engine.
    public var engine = EngineRequest()
    /// The device that it will run on.
    public var device = "CPU"

    /// A model at a path.
    public init(path: String) {
        self.path = path
    }
}

/// The preferred engine for a model, and the paths of the engines' libraries.
public struct EngineRequest: Sendable, Hashable {
    /// The engine.
    public var preference = EnginePreference.auto
    /// True if a file that the preferred engine does not read is refused; false if such a file runs as with `auto`.
    package var isRequired = false
    /// True to run an ONNX file with open axes on ONNX Runtime with `auto`, where it is installed: OpenVINO gives each
    /// layer memory of its own for the largest input so far, and keeps it.
    package var savesMemory = false
    /// The path of an engine's library, for engines that are opened at run time; without an entry, or with an empty
    /// one, the library included with Ocelli.
    public var libraries: [EnginePreference: String] = [:]

    /// The default engine.
    public init() {}
}

/// An input or output of a model file.
public struct TensorPort: Sendable, Hashable {
    /// The tensor's name; empty if the file does not name it.
    public let name: String
    /// The type of the elements.
    public let elementType: ElementType
    /// The shape; dynamic axes are ``Shape/dynamic``.
    public let shape: Shape

    /// A port with the given properties.
    public init(name: String, elementType: ElementType, shape: Shape) {
        self.name = name
        self.elementType = elementType
        self.shape = shape
    }
}

/// A model file with inputs that may be strings, and outputs that may be strings, dictionaries from labels to numbers,
/// or sequences.
package protocol ValueModelFile: ModelFile {
    /// The form of each output, in the order of the outputs.
    var forms: [OutputForm] { get }
}

/// The form in which an engine returns an output.
package enum OutputForm: Sendable {
    /// Numbers, in memory.
    case tensor
    /// Numbers in memory, a row of them for each item, with one for each of these labels.
    case labelled(ClassLabelList)
    /// A ``FeatureValue``: strings, or for a composition a dictionary or a sequence.
    case values(ValueComposition?)
}
