package import EngineAPI
package import FileFormats

/// The runtime of a file format, opened at run time if it is installed: the referee of the first engine for files of
/// this format.
package struct FormatRuntime: Sendable {
    let format: ModelFormat
    /// Its name in the setting `engine`.
    let preference: EnginePreference
    /// Its name, and that of its files, for messages.
    let name: String, files: String
    /// Returns the operator of a file that the first engine is known to compute wrongly. Blocks: reads the file.
    let fault: @Sendable (ModelSource) -> EngineFault?
    /// Returns the engine, given the path of its library.
    let open: @Sendable (String) throws(EngineError) -> any Engine
    /// Returns the referee for a file. Blocks: may read the file.
    let referee: @Sendable (any Engine, ModelSource) -> EngineReferee

    /// - Parameters:
    ///   - files: the files that it reads, for messages: `ONNX files (.onnx)`.
    ///   - referee: the referee for a file; by default the engine without a variant.
    // Wide: the columns of a table.
    package init(
        _ format: ModelFormat, _ preference: EnginePreference, name: String, files: String,
        referee: @escaping @Sendable (any Engine, ModelSource) -> EngineReferee = { engine, _ in EngineReferee(engine)
        },
        fault: @escaping @Sendable (ModelSource) -> EngineFault? = { _ in nil },
        open: @escaping @Sendable (String) throws(EngineError) -> any Engine
    ) {
        self.format = format
        self.preference = preference
        self.name = name
        self.files = files
        self.referee = referee
        self.fault = fault
        self.open = open
    }

    /// The engine, with the library that a model's source names.
    func engine(for source: ModelSource) throws(EngineError) -> any Engine {
        try open(source.engine.libraries[preference] ?? "")
    }
}

extension ModelFormat {
    /// The reason that no second engine confirms the answers for files of a format without a runtime of its own here.
    var unconfirmed: String {
        switch self {
        case .coreml: "Core ML's networks and programs have one importer, and no other engine reads them"
        case .openvino: "no other engine reads OpenVINO's files"
        case .paddle: "no other engine reads Paddle's files"
        case .tensorflow: "no other engine reads TensorFlow's SavedModel"
        case .onnx, .tflite: "the engine of its own format is not installed"
        }
    }
}
