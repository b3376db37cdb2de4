internal import Inference
package import WireFormats

extension Model {
    /// Refuses a pipeline, a reader, or a model for pictures and texts without labels of its own on routes that need a
    /// model with tensors.
    /// - Parameter name: the model's name in the request.
    package func refusePipeline(_ name: String) throws(ServiceError) {
        if let reader {
            let parts = reader.models.map(\.part.rawValue).joined(separator: ", ")
            throw .invalidInput(
                "model \"\(name)\" is a reader of text, made of several models (\(parts)), and has no tensors of its own: send "
                    + "pictures to /v1/models/\(name)/read; to send tensors, put one of its files into a folder of its own"
            )
        }
        guard hasTensors || pipeline != nil else {
            throw .invalidInput(
                "model \"\(name)\" embeds pictures and texts, and has no tensors of its own: send pictures or texts to "
                    + "/v1/models/\(name)/embed, or pictures with labels to /v1/models/\(name)/classify; with labels in its "
                    + "model.json (\"zero_shot\": {\"labels\": […]}) it is a classifier here, too")
        }
        guard let pipeline else { return }
        throw .invalidInput(
            "model \"\(name)\" is a pipeline of several models (\(pipeline.modelNames.joined(separator: ", "))) and has "
                + "no tensors of its own: send pictures to /v1/models/\(name)/detect, or tensors to one of its models")
    }
}
