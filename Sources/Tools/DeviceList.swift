internal import Inference
internal import InferenceService

/// The engine's devices as text: what `ocelli devices` prints.
package enum DeviceList {
    /// A paragraph per device. Blocks while the engine looks.
    package static func text() throws -> String {
        let devices: [ComputeDevice]
        do throws(EngineError) {
            devices = try ComputeDevice.available
        } catch {
            throw StartupError(error.message)
        }
        return devices.map { device in
            "\(device.name)  \(device.fullName)\n     \(device.capabilities.joined(separator: " "))"
        }.joined(separator: "\n")
    }
}
