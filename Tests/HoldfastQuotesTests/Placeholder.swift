// Placeholder of the skeleton: delete with the first real file.
