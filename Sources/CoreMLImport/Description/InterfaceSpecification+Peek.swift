extension InterfaceSpecification {
    /// Reads the description at the beginning of a file, without the model behind it.
    /// - Parameter head: the first bytes of the file: everything in front of the model is there in practice, and a
    ///   description that is cut off is one that is not found.
    package static func peek(_ head: Bytes) -> InterfaceSpecification? {
        var reader = MessageReader(head)
        // Loading the file reports whatever is wrong with it.
        while let field = try? reader.next(), field.number < 200 {
            if field.number == 2 { return try? InterfaceSpecification(field.message()) }
        }
        return nil
    }

    /// True if the model takes one picture and gives classes.
    package var classifiesPictures: Bool {
        guard inputs.count == 1, case .image = inputs[0].type else { return false }
        return !predictedFeatureName.isEmpty
    }
}
