import FileFormats
import Inference

extension ChoosingEngine {
    /// A choice between two engines for ONNX files.
    /// - Parameter referee: completes the referee, which is the second engine.
    static func between(
        _ first: any Engine, _ second: any Engine, referee: @escaping @Sendable (inout EngineReferee) -> Void = { _ in }
    ) -> ChoosingEngine {
        between(first, referee: referee) { () throws(EngineError) in second }
    }

    /// A choice between two engines, of which the second may be missing.
    static func between(
        _ first: any Engine, referee complete: @escaping @Sendable (inout EngineReferee) -> Void = { _ in },
        second: @escaping @Sendable () throws(EngineError) -> any Engine
    ) -> ChoosingEngine {
        ChoosingEngine(
            first,
            runtimes: [
                FormatRuntime(
                    .onnx, .onnxruntime, name: "ONNX Runtime", files: "ONNX files (.onnx)",
                    referee: { engine, _ in
                        var referee = EngineReferee(engine)
                        complete(&referee)
                        return referee
                    },
                    open: { (_) throws(EngineError) in try second() })
            ])
    }
}
