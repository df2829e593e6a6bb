//! Engines that read a document: the trait, and local:layout
