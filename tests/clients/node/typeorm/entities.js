// The tables of TypeORM's checks, as schemas: its decorators want a compiler.
'use strict';

const { EntitySchema } = require('typeorm');

const Author = new EntitySchema({
  name: 'Author',
  tableName: 'author',
  columns: {
    id: { type: 'int', primary: true, generated: 'increment' },
    name: { type: 'varchar', length: 50, unique: true },
    born: { type: 'date', nullable: true },
    version: { type: 'int', version: true },
    created: { type: 'timestamptz', createDate: true },
    updated: { type: 'timestamptz', updateDate: true },
    deleted: { type: 'timestamptz', deleteDate: true, nullable: true },
  },
  relations: {
    books: { type: 'one-to-many', target: 'Book', inverseSide: 'author', cascade: true },
    profile: { type: 'one-to-one', target: 'Profile', inverseSide: 'author', cascade: true },
  },
});

const Profile = new EntitySchema({
  name: 'Profile',
  tableName: 'profile',
  columns: {
    id: { type: 'uuid', primary: true, generated: 'uuid' },
    text: { type: 'text', default: '' },
  },
  relations: {
    author: { type: 'one-to-one', target: 'Author', joinColumn: true, inverseSide: 'profile',
      onDelete: 'CASCADE' },
  },
});

const Book = new EntitySchema({
  name: 'Book',
  tableName: 'book',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'identity', generatedIdentity: 'BY DEFAULT' },
    title: { type: 'varchar' },
    price: { type: 'numeric', precision: 10, scale: 2, default: 0 },
    pages: { type: 'int', default: 1 },
    words: { type: 'text', array: true, nullable: true },
    twice: { type: 'int', generatedType: 'STORED', asExpression: 'pages * 2', nullable: true },
  },
  indices: [{ name: 'book_by_title', columns: ['title', 'price'] }],
  checks: [{ name: 'book_pages', expression: 'pages > 0' }],
  relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', onDelete: 'CASCADE',
      joinColumn: { name: 'author_id' }, orphanedRowAction: 'delete' },
    tags: { type: 'many-to-many', target: 'Tag', inverseSide: 'books', cascade: true,
      joinTable: { name: 'book_tag' } },
  },
});

const Tag = new EntitySchema({
  name: 'Tag',
  tableName: 'tag',
  columns: {
    name: { type: 'varchar', primary: true },
    uses: { type: 'int', default: 0 },
  },
  relations: { books: { type: 'many-to-many', target: 'Book', inverseSide: 'tags' } },
});

const Node = new EntitySchema({
  name: 'Node',
  tableName: 'node',
  trees: [{ type: 'closure-table' }],
  columns: {
    id: { type: 'int', primary: true, generated: 'increment' },
    name: { type: 'varchar' },
  },
  relations: {
    parent: { type: 'many-to-one', target: 'Node', treeParent: true, nullable: true },
    children: { type: 'one-to-many', target: 'Node', treeChildren: true, inverseSide: 'parent' },
  },
});
const Account = new EntitySchema({
  name: 'Account',
  tableName: 'account',
  columns: {
    id: { type: 'int', primary: true },
    balance: { type: 'int' },
  },
});

module.exports = { Account, Author, Book, Node, Profile, Tag };
